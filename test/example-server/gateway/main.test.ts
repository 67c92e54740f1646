import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { outcome, run } from '../../support/program.ts'
import { startSystem } from '../../support/system-process.ts'

const MAIN = [process.execPath, 'example-server/gateway/main.ts']

t.test('npm run gateway: it says what is bounded and what to try, and that is true; SIGTERM ends it', async (t) => {
  const { child, url, output, end, examples } = await startSystem(t, ['npm', 'run', 'gateway'])
  const banner = output()
  t.match(banner, /gateway: http:\/\/127\.0\.0\.1:[1-9]\d*\n/)
  t.match(banner, /\nEach node counts for itself: a number holds per node, of which one is configured\.\n/)
  t.equal(banner.match(/warning:/g)?.length, 1)
  t.match(banner, /reports {2}\/reports\n.*\n +warning: no bound applies to everybody\n/)
  t.equal(examples.length, 4)
  const [untilRefused, asTom, asPetra, save] = examples.map((example) => async () => {
    return (await run(['bash', '-c', `${example} || true`])).stdout
  })
  t.match(await untilRefused!(), /^(\{"method":"GET","path":"\/today","bytes":0\}\n){5}\{.*"status":429.*\}$/)
  t.match(await asTom!(), /^HTTP\/1\.1 200 [\s\S]*\{"method":"GET","path":"\/orders\/42","bytes":0\}$/)
  for (let i = 0; i < 3; i += 1) t.match(await asPetra!(), /^HTTP\/1\.1 200 /)
  t.match(await asPetra!(), /^HTTP\/1\.1 429 [\s\S]*\nratelimit-limit: 3\r\n/)
  t.match(await save!(), /^HTTP\/1\.1 200 /)
  const { stdout } = await run(['curl', '-sSi', '-u', 'admin:demo-admin-token', `${url}/-/console`])
  t.match(stdout, /^HTTP\/1\.1 200 [\s\S]*no bound applies to everybody/)
  t.notMatch(output().slice(banner.length), /127\.0\.0\.1|demo-token|demo-admin/, 'the log names no caller')
  child.kill('SIGTERM')
  t.same(await end(), [0, null])
})

t.test('SIGINT ends it once the requests that are open are answered', async (t) => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.teardown(() => silent.close())
  const upstream = `http://127.0.0.1:${(silent.address() as { port: number }).port}`
  const dir = t.testdir({
    'a.toml': `nodes = 3\n[[routes]]\nname = "a"\nprefix = "/a"\nupstream = "${upstream}"\ntimeout = "PT1S"\n`,
  })
  const { child, url, output, end } = await startSystem(t, [...MAIN, '--config', join(dir, 'a.toml')])
  t.match(output(), /: a number holds per node, of which 3 are configured\.\n/)
  // Without keep-alive, so that nothing else is left to be waited for.
  const answered = once(get(`${url}/a`, { agent: false }), 'response')
  await once(silent, 'connection')
  child.kill('SIGINT')
  const [{ statusCode }] = (await answered) as [IncomingMessage]
  t.equal(statusCode, 504)
  t.same(await end(), [0, null])
})

t.test('what is wrong stops the start with code 1 and one line for each problem', async (t) => {
  const dir = t.testdir({
    'bad.toml':
      'nodes = 0\n[[routes]]\nname = "a"\nprefix = "/a"\nupstream = "http://h"\nrules = [{ per = "user", count = 1, window = "P2D" }]\n',
  })
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.teardown(() => taken.close())
  const { port } = taken.address() as { port: number }
  const rows: [args: string[], env: Record<string, string>, stderr: RegExp][] = [
    [['--nonsense'], {}, /^arguments: .*; allowed: --config, --help\n$/],
    [['--config='], { PORT: 'x' }, /^PORT: .*\n--config: must be a file, got ""\n$/],
    [[], { PORT: String(port) }, /^PORT, HOST: must be where .*\n$/],
    [['--config', join(dir, 'missing.toml')], {}, /^--config: must be a file that can be read, .*\n$/],
    [
      ['--config', join(dir, 'bad.toml')],
      {},
      /^.*bad\.toml: routes\[0\]\.rules\[0\]\.window: .*, got "P2D"\n.*bad\.toml: nodes: .*\n$/,
    ],
  ]
  const outcomes = await Promise.all(
    rows.map(([args, more]) => outcome([...MAIN, ...args], { env: { ...process.env, PORT: '0', ...more } })),
  )
  for (const [i, { code, stderr }] of outcomes.entries()) {
    t.equal(code, 1, rows[i]![0].join(' '))
    t.match(stderr, rows[i]![2])
  }
  t.match(await outcome([...MAIN, '--help']), { code: 0, stdout: /^Usage: .*--config/ })
})
