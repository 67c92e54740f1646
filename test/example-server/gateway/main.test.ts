import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'

const run = promisify(execFile)
const MAIN = 'example-server/gateway/main.ts'

async function outcome(args: string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [MAIN, ...args], { env: { ...process.env, PORT: '0', ...env }, stdio: 'pipe' })
  const timer = setTimeout(() => child.kill('SIGKILL'), 20_000)
  const [stdout, stderr, [code]] = await Promise.all([
    child.stdout.toArray(),
    child.stderr.toArray(),
    once(child, 'exit') as Promise<[number | null]>,
  ])
  clearTimeout(timer)
  return { code, stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() }
}

/** All that a process has printed once it has said what to try. */
async function untilBanner(child: ChildProcess): Promise<() => string> {
  let text = ''
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.on('data', (chunk: Buffer) => {
        text += chunk
        // Log lines may come after it.
        if (/\/-\/console\n/.test(text)) resolve()
      })
    }
    child.once('exit', (code) => reject(new Error(`exit ${code}: ${text}`)))
  })
  return () => text
}

t.test('npm run gateway: what its banner says to try works, and SIGTERM ends it', async (t) => {
  const child = spawn('npm', ['run', '--silent', 'gateway'], {
    env: { ...process.env, PORT: '0' },
    stdio: 'pipe',
    detached: true,
  })
  t.teardown(() => child.exitCode ?? process.kill(-child.pid!, 'SIGKILL'))
  const output = await untilBanner(child)
  const text = output()
  t.match(text, /gateway: http:\/\/127\.0\.0\.1:[1-9]\d*\n/)
  t.match(text, /reports {2}\/reports\n.*\n +warning: no bound applies to everybody\n/)
  const examples = [...text.matchAll(/^ {2}((?:curl|while) .*)$/gm)].map(([, line]) => line!)
  t.equal(examples.length, 4)
  const shell = async (command: string) => (await run('bash', ['-c', `${command}; true`], { timeout: 20_000 })).stdout
  const [untilRefused, asTom, asPetra, save] = examples
  t.match(await shell(untilRefused!), /^(\{"method":"GET","path":"\/today","bytes":0\}\n){5}\{.*"status":429.*\}$/)
  t.match(await shell(asTom!), /^HTTP\/1\.1 200 [\s\S]*\{"method":"GET","path":"\/orders\/42","bytes":0\}$/)
  for (let i = 0; i < 3; i += 1) t.match(await shell(asPetra!), /^HTTP\/1\.1 200 /)
  t.match(await shell(asPetra!), /^HTTP\/1\.1 429 [\s\S]*\nratelimit-limit: 3\r\n/i)
  t.match(await shell(save!), /^HTTP\/1\.1 200 /)
  const page = /(http:\S+\/-\/console)$/m.exec(text)![1]!
  t.match(await shell(`curl -sSi -u admin:demo-admin-token ${page}`), /^HTTP\/1\.1 200 /)
  t.notMatch(output().slice(text.length), /127\.0\.0\.1|demo-token|demo-admin/, 'the log names no caller')
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  t.same(await exit, [0, null])
})

t.test('SIGINT ends it with a request open', async (t) => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.teardown(() => silent.close())
  const upstream = `http://127.0.0.1:${(silent.address() as { port: number }).port}`
  const dir = t.testdir({
    'a.toml': `[[routes]]\nname = "a"\nprefix = "/a"\nupstream = "${upstream}"\ntimeout = "PT1S"\n`,
  })
  const child = spawn(process.execPath, [MAIN, '--config', join(dir, 'a.toml')], {
    env: { ...process.env, PORT: '0' },
    stdio: 'pipe',
  })
  t.teardown(() => child.kill('SIGKILL'))
  const text = (await untilBanner(child))()
  // Without keep-alive, so that nothing is left to be waited for.
  const answered = once(get(`${/http:\S+/.exec(text)![0]}/a`, { agent: false }), 'response')
  await once(silent, 'connection')
  const exit = once(child, 'exit')
  child.kill('SIGINT')
  const [{ statusCode }] = (await answered) as [IncomingMessage]
  t.equal(statusCode, 504, 'it is answered first')
  t.same(await exit, [0, null])
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
    [[], { PORT: 'x' }, /^PORT: .*\n$/],
    [[], { PORT: String(port) }, /^PORT, HOST: must be where .*\n$/],
    [['--config', join(dir, 'missing.toml')], {}, /^--config: must be a file that can be read, .*\n$/],
    [
      ['--config', join(dir, 'bad.toml')],
      {},
      /^.*bad\.toml: routes\[0\]\.rules\[0\]\.window: .*, got "P2D"\n.*bad\.toml: nodes: .*\n$/,
    ],
  ]
  const outcomes = await Promise.all(rows.map(([args, env]) => outcome(args, env)))
  for (const [i, { code, stderr }] of outcomes.entries()) {
    t.equal(code, 1, rows[i]![0].join(' '))
    t.match(stderr, rows[i]![2])
  }
  t.match(await outcome(['--help']), { code: 0, stdout: /^Usage: .*--config/ })
})
