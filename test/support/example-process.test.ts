import t from 'tap'
import { startExample } from './example-process.ts'

t.test('the banner is found among what is logged before and after it', async (t) => {
  const log = '{"msg":"listening"}\n'
  const banner = [
    'HTTP/1.1  http://127.0.0.1:1',
    'HTTP/2    http://127.0.0.1:2',
    '',
    'Try it',
    '',
    '  Open http://127.0.0.1:1 in a browser, or:',
    '',
    '  # this',
    '  curl this',
    '  # or that',
    '  npx that',
    '',
    '',
  ].join('\n')
  for (const printed of [banner, `${log}${banner}`, `${banner}${log}`, `${log}\n${banner}${log}${log}`]) {
    const script = `process.stdout.write(${JSON.stringify(printed)}); setInterval(() => {}, 1000)`
    const { http, h2c, examples } = await startExample(t, [process.execPath, '--eval', script])
    t.same([http, h2c], ['http://127.0.0.1:1', 'http://127.0.0.1:2'])
    t.same(examples, ['curl this', 'npx that'])
  }
})
