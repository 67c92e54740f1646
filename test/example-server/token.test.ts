import { decodeJwt } from 'jose'
import t from 'tap'
import { demo } from '../../example-server/demo.ts'
import { outcome } from '../support/program.ts'

t.test('npm run token', async (t) => {
  const TOKEN = [process.execPath, 'example-server/token.ts']
  const minted = await outcome([...TOKEN, '--sub', 'alice'])
  t.match(decodeJwt(minted.stdout.trim()), { iss: demo.iss, sub: 'alice', exp: Number })
  const config = ['--config', 'example-server/demo.toml', '--iss', 'https://other-issuer.example']
  t.match(decodeJwt((await outcome([...TOKEN, ...config])).stdout.trim()), { aud: 'example-server', sub: undefined })
  for (const [args, stderr] of [
    [['--iss', 'nobody'], /^--iss: must be one of "https:\/\/issuer\.example", got "nobody"\n$/],
    [['--expires-in', 'soon'], /^--expires-in: must be a whole number of seconds .*, got "soon"\n$/],
    [['alice'], /^arguments: /],
  ] as const) {
    t.match(await outcome([...TOKEN, ...args]), { code: 1, stdout: '', stderr })
  }
})
