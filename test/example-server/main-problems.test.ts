import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { MAIN } from '../support/example-process.ts'
import { outcome } from '../support/program.ts'

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
      // Where nobody answers for names, it is not waited for.
      { HOST: 'no.such.host.invalid', RES_OPTIONS: 'timeout:1 attempts:1' },
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
  const outcomes = await Promise.all(
    rows.map(([args, env]) => outcome([...MAIN, ...args], { env: { ...process.env, PORT: '0', ...env } })),
  )
  for (const [i, { code, stderr }] of outcomes.entries()) {
    const [args, env, pattern] = rows[i]!
    const name = JSON.stringify([args, env])
    t.equal(code, 1, name)
    t.match(stderr, pattern, name)
  }
  const help = await outcome([...MAIN, '--help'])
  t.equal(help.code, 0)
  t.match(help.stdout, /^Usage: .*--config/)
})
