import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createClient } from '@connectrpc/connect'
import { createGrpcTransport } from '@connectrpc/connect-node'
import { decodeJwt } from 'jose'
import t from 'tap'
import { demo } from '../../example-server/demo.ts'
import { BackendService } from '../../example-server/gen/example/v1/backend_pb.ts'
import { type ExampleProcess, leaveSoon, untilBanner } from '../support/example-process.ts'
import { answer, SERVICE } from './harness.ts'

const run = promisify(execFile)
const MAIN = 'example-server/main.ts'
const TOKEN = 'example-server/token.ts'

/** What a command printed, and its exit code. */
async function outcome(args: string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, args, { env: { ...process.env, PORT: '0', ...env }, stdio: 'pipe' })
  const timer = setTimeout(() => child.kill('SIGKILL'), 20_000)
  const [stdout, stderr, [code]] = await Promise.all([
    child.stdout.toArray(),
    child.stderr.toArray(),
    once(child, 'exit') as Promise<[number | null]>,
  ])
  clearTimeout(timer)
  return { code, stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() }
}

/** Starts the server and waits for its banner. */
async function startMain(
  t: { teardown(run: () => unknown): unknown },
  args: string[] = [],
  env: Record<string, string> = {},
): Promise<ExampleProcess> {
  const child = spawn(process.execPath, [MAIN, ...args], { env: { ...process.env, PORT: '0', ...env }, stdio: 'pipe' })
  t.teardown(() => child.kill('SIGKILL'))
  return untilBanner(child)
}

t.test('it says where it is, what a call costs, what is admitted, and what to try; all of that is true', async (t) => {
  const { http, h2c, output, examples } = await startMain(t, ['--config', 'example-server/demo.toml'])
  const text = output()
  for (const category of [
    'publish: envelopes (at least 1)',
    'chain_verify: requests (at least 1)',
    'push: by the handler',
  ]) {
    t.ok(text.includes(category), category)
  }
  for (const { name } of BackendService.methods) t.match(text, new RegExp(`${SERVICE}/${name} +(1 request|free)`))
  t.match(text, /publish +API key: 10 per 60 s; token: 5 per 60 s, 100 per 3600 s; address: 5 per 60 s, 100 per 3600 s/)
  t.match(text, /upload +3 per 60 s\n/)
  t.match(text, /stream_rent +6 per 60 s\n/)
  t.match(text, /1\. API key "indexer" +request +everything\n +1\. API key "indexer" +publish +50000 per 60 s\n/)
  t.notMatch(text, demo.apiKey, 'no key of a configuration is printed')

  t.equal(examples.length, 8)
  const shell = (command: string) => run('bash', ['-c', command], { timeout: 30_000 })
  const [publish, query, asUser, configuration, allowance, health, watch, refusal] = examples
  t.match(JSON.parse((await shell(publish!)).stdout), { sequenceIds: ['1'] })
  t.match(JSON.parse((await shell(query!)).stdout), { envelopes: [{ envelope: { topic: 'greetings' } }] })
  t.match(JSON.parse((await shell(asUser!)).stdout), { envelopes: [{ sequenceId: '1' }] })
  t.match(JSON.parse((await shell(configuration!)).stdout), { rateLimitDomain: 'xmtp.org' })
  t.match(JSON.parse((await shell(allowance!)).stdout), { caller: 'address 127.0.0.1', authType: 'ip' })
  t.match(JSON.parse((await shell(health!)).stdout), { status: 'SERVING' })
  const watching = () => shell(`${leaveSoon(watch!)} || true`)
  t.match((await watching()).stdout, /\{"started":\{\}\}.*\{"messages":.*"sequenceId":"1"/)
  await Promise.all([watching(), watching()])
  t.match((await watching()).stdout, /"code":"resource_exhausted".*"category":"stream_rent"/, 'three streams a minute')
  const refused = await shell(`${refusal} ; true`)
  t.match(refused.stdout, /^(\{"uploadId".*\}\n){3}\{"code":"resource_exhausted".*"category":"upload".*\}$/)
  t.match(refused.stderr, /429/)

  const backend = createClient(BackendService, createGrpcTransport({ baseUrl: h2c }))
  t.match(
    await answer(backend.createUpload({ sizeBytes: 1n })),
    /RATE_LIMITED xmtp\.org upload/,
    'one allowance for both listeners',
  )

  const logged = output().slice(text.length)
  t.match(logged, `"path":"/${SERVICE}/Publish"`)
  t.notMatch(logged, /127\.0\.0\.1|demo-api-key|Bearer|eyJ/, 'the log names no caller')
  t.match(http, /^http/)
})

t.test('SIGTERM and SIGINT end it, with clients connected, and the database is there next time', async (t) => {
  const database = join(t.testdir(), 'store.sqlite')
  for (const [i, signal] of (['SIGTERM', 'SIGINT'] as const).entries()) {
    const { child, http, h2c, output } = await startMain(t, ['--database', database])
    t.match(output(), demo.apiKey, 'the demo key is printed, which everybody knows')
    const backend = createClient(BackendService, createGrpcTransport({ baseUrl: h2c }))
    const { sequenceIds } = await backend.publish({
      envelopes: [{ topic: 'a', payload: { case: 'applicationMessage', value: new Uint8Array(1) } }],
    })
    t.same(sequenceIds, [BigInt(i + 1)])
    await fetch(`${http}/${SERVICE}/Query`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    })
    const started = Date.now()
    const exit = once(child, 'exit')
    child.kill(signal)
    t.same(await exit, [0, null], signal)
    t.ok(Date.now() - started < 3000, `${Date.now() - started} ms`)
  }
})

t.test('what is wrong stops the start with code 1 and one line for each problem', async (t) => {
  const dir = t.testdir({
    'bad.toml': '[rate_limits]\nenabled = 1\nfoo = 2\n',
    'no-database': 'this is no database, but it is long enough',
  })
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.teardown(() => taken.close())
  const { port } = taken.address() as { port: number }
  const rows: [args: string[], env: Record<string, string>, stderr: RegExp][] = [
    [['--nonsense'], {}, /^arguments: .*\n$/],
    [[], { PORT: 'x', H2C_PORT: 'y' }, /^PORT: .*\nH2C_PORT: .*\n$/],
    [
      [],
      { PORT: String(port), H2C_PORT: '0' },
      /^PORT, H2C_PORT, HOST: must be where .*, got port \d+ of "127\.0\.0\.1" \(in use already: set PORT to another\)\n$/,
    ],
    [
      [],
      { HOST: 'no.such.host.invalid' },
      /^PORT, H2C_PORT, HOST: .*, got "no\.such\.host\.invalid" \((ENOTFOUND|EAI_AGAIN)\)\n$/,
    ],
    [
      ['--config', join(dir, 'bad.toml')],
      {},
      /^.*bad\.toml: rate_limits\.enabled: .*\n.*bad\.toml: rate_limits: unknown key "foo".*\n$/,
    ],
    [['--config', join(dir, 'missing.toml')], {}, /^--config: .*\n$/],
    [
      ['--database', join(dir, 'no-database')],
      {},
      /^--database: .*no-database": file is not a database; allowed: .*\n$/,
    ],
    [['--database', join(dir, 'missing', 'x')], {}, /^--database: .*\n$/],
  ]
  const outcomes = await Promise.all(rows.map(([args, env]) => outcome([MAIN, ...args], env)))
  for (const [i, { code, stderr }] of outcomes.entries()) {
    const [args, env, pattern] = rows[i]!
    const name = JSON.stringify([args, env])
    t.equal(code, 1, name)
    t.match(stderr, pattern, name)
  }
  const help = await outcome([MAIN, '--help'])
  t.equal(help.code, 0)
  t.match(help.stdout, /^Usage: .*--config/)
})

t.test('npm run token', async (t) => {
  const minted = await outcome([TOKEN, '--sub', 'alice'])
  t.match(decodeJwt(minted.stdout.trim()), { iss: demo.iss, sub: 'alice', exp: Number })
  const config = ['--config', 'example-server/demo.toml', '--iss', 'https://other-issuer.example']
  t.match(decodeJwt((await outcome([TOKEN, ...config])).stdout.trim()), { aud: 'example-server', sub: undefined })
  for (const [args, stderr] of [
    [['--iss', 'nobody'], /^--iss: must be one of "https:\/\/issuer\.example", got "nobody"\n$/],
    [['--expires-in', 'soon'], /^--expires-in: must be a whole number of seconds .*, got "soon"\n$/],
    [['alice'], /^arguments: /],
  ] as const) {
    t.match(await outcome([TOKEN, ...args]), { code: 1, stdout: '', stderr })
  }
})
