import { generateKeyPairSync } from 'node:crypto'
import { join } from 'node:path'
import t from 'tap'
import { signAsTold } from '../../../example-server/settlement/sign.ts'
import { publicKeyInHex } from '../../../example-server/settlement/signed-call.ts'
import { outcome, run } from '../../support/program.ts'
import { startSystem } from '../../support/system-process.ts'
import { postTo } from './harness.ts'

const MAIN = [process.execPath, 'example-server/settlement/main.ts']

t.test('npm run settlement: what the banner says to try is true, and SIGTERM ends it', async (t) => {
  const { child, output, end, examples } = await startSystem(t, ['npm', 'run', '-s', 'settlement'])
  t.match(output(), /network 1 +sendTx 3 in any 600 s; sendCertificate 1 an epoch\n/)
  t.match(output(), /network 2 +sendTx unlimited; sendCertificate unlimited\n/)
  t.match(output(), /network 3 +sendTx disabled; sendCertificate 1 an epoch\n/)
  t.equal(examples.length, 4)
  // npm takes longer to start than all the rest.
  const shell = async (command: string) =>
    (await run(['bash', '-c', command.replace('npm run -s settlement --', MAIN.join(' '))])).stdout
  const [tx, certificate, unknown, again] = examples
  const answers = await Promise.all([tx!, certificate!, unknown!].map(shell))
  t.match(JSON.parse(answers[0]!), { result: /^0x[0-9a-f]{64}$/ })
  t.match(JSON.parse(answers[1]!), { result: /^0x[0-9a-f]{64}$/ })
  t.match(JSON.parse(answers[2]!), { error: { code: -10001 } })
  const last = JSON.parse(await shell(again!))
  t.match(last.error.data['rate-limited'].error['send-tx-rate-limited'], {
    'max-per-interval': 3,
    'time-interval': 600,
  })
  t.notMatch(output(), /"remoteAddress"|"host"/)
  child.kill('SIGTERM')
  t.same(await end(), [0, null])
})

t.test('with a key and a configuration of one’s own, and what was settled is there next time', async (t) => {
  const { privateKey } = generateKeyPairSync('ed25519')
  const dir = t.testdir({
    'key.pem': privateKey.export({ format: 'pem', type: 'pkcs8' }) as string,
    'own.toml': `[rate-limiting]\nsend-tx = { max-per-interval = 1, time-interval = "1h" }\n[networks.17]\npublic-key = "${publicKeyInHex(privateKey)}"\n`,
  })
  const key = ['--key', join(dir, 'key.pem')]
  t.equal(signAsTold([...key, '--public-key']), `${publicKeyInHex(privateKey)}\n`)
  const call = signAsTold([...key, '--network', '17', '--payload', '0x0102'])
  const args = ['--config', join(dir, 'own.toml'), '--database', join(dir, 'settled.sqlite')]
  const results: unknown[] = []
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    const { child, url, end } = await startSystem(t, [...MAIN, ...args])
    results.push((await postTo(url, call)).json.result)
    child.kill(signal)
    t.same(await end(), [0, null], signal)
  }
  t.match(results[0], /^0x/)
  t.equal(results[1], results[0], 'it was settled before')
})

t.test('what is wrong stops the start with code 1 and one line for each problem', async (t) => {
  const dir = t.testdir({
    'bad.toml': '[rate-limiting.send-tx]\nmax-per-interval = -1\ninterval-duration = "5x"\n[networks.1]\n',
    'no-database': 'this is no database, but it is long enough',
  })
  const rows: [args: string[], env: Record<string, string>, stderr: RegExp][] = [
    [['--config', join(dir, 'bad.toml')], {}, /^(.*bad\.toml: .*\n){3}$/],
    [['--database', join(dir, 'no-database')], {}, /^--database: .*\n$/],
    [['--nonsense'], { PORT: 'x', HOST: '' }, /^arguments: .*--nonsense.*\nHOST: .*\nPORT: .*\n$/],
  ]
  const outcomes = await Promise.all(
    rows.map(([args, env]) => outcome([...MAIN, ...args], { env: { ...process.env, PORT: '0', ...env } })),
  )
  for (const [i, [args, , stderr]] of rows.entries()) {
    t.equal(outcomes[i]?.code, 1, args.join(' '))
    t.match(outcomes[i]?.stderr, stderr, args.join(' '))
  }
})

t.test('sign says all that is wrong', (t) => {
  const args = ['--method', 'send', '--network', 'x', '--payload', '1', '--key', 'no such file']
  t.throws(() => signAsTold(args), {
    name: 'StartProblem',
    message: /^--method: .*\n--network: .*\n--payload: .*\n--key: .*$/,
  })
  t.match(signAsTold(['--help']), /^Usage: npm run /)
  t.end()
})
