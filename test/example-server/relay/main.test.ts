import { join } from 'node:path'
import t from 'tap'
import { outcome, run } from '../../support/program.ts'
import { startSystem } from '../../support/system-process.ts'
import { inRow, postTo } from './harness.ts'

const MAIN = [process.execPath, 'example-server/relay/main.ts']
const ENV = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/RATE_LIMIT|^(PORT|HOST)$/.test(name)))

const startMain = (
  t: Parameters<typeof startSystem>[0],
  args: string[],
  env: Record<string, string> = {},
  command = MAIN,
) => startSystem(t, [...command, ...args], { env: { ...ENV, ...env } })

t.test('npm run relay: it says what is admitted and what to try, and that is true; SIGTERM ends it', async (t) => {
  const command = ['npm', 'run', 'relay', '--']
  const { child, output, end, examples } = await startMain(
    t,
    ['--config', 'example-server/relay/demo.toml'],
    {},
    command,
  )
  const banner = output()
  t.match(banner, /of each sender +3 per minute, 20 per hour\n/)
  t.match(banner, /of everybody +10 per minute, 100000 per hour, 1000000 per day\n/)
  t.equal(examples.length, 6)
  const answers: string[] = []
  for (const example of examples) answers.push((await run(['bash', '-c', `${example} || true`])).stdout)
  const [message, ack, forged, health, challenge, again] = answers
  t.match(JSON.parse(message!), { id: /^[0-9a-f]{64}$/ })
  t.same(JSON.parse(ack!), { message_id: JSON.parse(message!).id })
  t.same(JSON.parse(forged!), { error: 'invalid_signature' })
  t.same(JSON.parse(health!), { status: 'ok' })
  t.match(JSON.parse(challenge!), { challenge: String })
  const lines = again!.trim().split('\n')
  t.same(lines.slice(0, -1), [message, message], 'three a minute, of which one was used')
  t.match(JSON.parse(lines.at(-1)!), { error: 'rate_limit_exceeded', scope: 'sender', window: 'minute', limit: 3 })
  t.notMatch(output().slice(banner.length), /127\.0\.0\.1|[0-9a-f]{64}/, 'the log names nobody')
  child.kill('SIGTERM')
  t.same(await end(), [0, null])
})

t.test('the environment goes over the file; SIGINT ends it, and messages are there next time', async (t) => {
  const dir = t.testdir({ 'a.toml': '[rate_limit]\nminute = 1\nhour = 0\nday = 0' })
  const [file, database] = [join(dir, 'a.toml'), join(dir, 'relay.sqlite')]
  const env = { RATE_LIMIT_MINUTE: '4', GLOBAL_RATE_LIMIT_DAY: '6' }
  const { child, url, end, examples } = await startMain(t, ['--config', file, '--database', database], env)
  const [, ack] = examples
  await run(['bash', '-c', examples[0]!])
  t.equal(await inRow(5, async () => (await postTo(url, '/messages', { sender: 'ann' })).status), '4 x 401, 1 x 429')
  t.equal(await inRow(2, async () => (await postTo(url, '/acks', { sender: 'bob' })).status), '1 x 401, 1 x 429')
  child.kill('SIGINT')
  t.same(await end(), [0, null])
  const next = await startMain(t, ['--database', database], { RATE_LIMIT_MINUTE: '0' })
  const { stdout } = await run(['bash', '-c', ack!.replace(url, next.url)])
  t.match(JSON.parse(stdout), { message_id: String }, 'and no counter is')
})

t.test('what is wrong stops the start with code 1 and one line for each problem', async (t) => {
  const dir = t.testdir({
    'bad.toml': '[rate_limit]\nminute = -3\n',
    'no-database': 'no database, but long enough for one',
  })
  const rows: [args: string[], env: Record<string, string>, stderr: RegExp][] = [
    [
      ['--what', '--config='],
      { GLOBAL_RATE_LIMIT_HOUR: '1.5', RATE_LIMIT_DAY: '', PORT: 'x' },
      /^arguments: .*; allowed: --config, --database, --help\nPORT: .*\nRATE_LIMIT_DAY: .*\nGLOBAL_RATE_LIMIT_HOUR: .*\n$/,
    ],
    [
      ['--config', join(dir, 'bad.toml'), '--database='],
      { RATE_LIMIT_MINUTE: '3' },
      /^--database: must be a file, got ""\n.*bad\.toml: rate_limit\.minute: .*, got -3\n$/,
    ],
    [['--database', join(dir, 'no-database')], {}, /^--database: .*: file is not a database; allowed: .*\n$/],
    [[], { HOST: 'no.such.host.invalid' }, /^PORT, HOST: must be where this server can listen, .*\n$/],
  ]
  const outcomes = await Promise.all(
    rows.map(([args, env]) => outcome([...MAIN, ...args], { env: { ...ENV, PORT: '0', ...env } })),
  )
  for (const [i, { code, stdout, stderr }] of outcomes.entries()) {
    const [args, env, pattern] = rows[i]!
    t.match({ code, stdout, stderr }, { code: 1, stdout: '', stderr: pattern }, JSON.stringify([args, env]))
  }
})
