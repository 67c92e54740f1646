import t from 'tap'
import { readCommandLine } from '../../example-server/command-line.ts'

t.test('what the command line and the environment say', async (t) => {
  t.match(readCommandLine([], {}), { help: false, host: '127.0.0.1', port: 5050, h2cPort: 5051 })
  t.match(readCommandLine([], { PORT: '8080', HOST: '::1' }), { host: '::1', port: 8080, h2cPort: 8081 })
  t.match(readCommandLine([], { PORT: '0' }), { port: 0, h2cPort: 0 })
  t.match(readCommandLine([], { PORT: '65535', H2C_PORT: '0' }), { port: 65_535, h2cPort: 0 })
  t.match(readCommandLine(['--config', 'a.toml', '--database=b.sqlite'], {}), {
    config: 'a.toml',
    database: 'b.sqlite',
  })
  t.match(readCommandLine(['-h'], {}), { help: true })
})

t.test('what is wrong is named, with what is allowed', async (t) => {
  const rows: [args: string[], env: Record<string, string>, ...problems: RegExp[]][] = [
    [['--confg', 'a'], {}, /^arguments: .*'--confg'.*; allowed: --config, --database, --help$/],
    [['a.toml'], {}, /^arguments: .*'a\.toml'.*; allowed: /],
    [['--config'], {}, /^arguments: .*--config.*; allowed: /],
    [['--config='], {}, /^--config: must be a file, got ""$/],
    [['--database', ''], {}, /^--database: must be a file, got ""$/],
    ...['', 'abc', '-1', '65536', '1e3', '80.5', ' 80', '0x50', '999999'].map(
      (PORT): [string[], Record<string, string>, RegExp] => [
        [],
        { PORT },
        /^PORT: must be a whole number from 0 to 65535 \(0: any free port\), got "/,
      ],
    ),
    [[], { H2C_PORT: 'x' }, /^H2C_PORT: must be a whole number from 0 to 65535 .*, got "x"$/],
    [[], { PORT: '5050', H2C_PORT: '5050' }, /^H2C_PORT: must not be PORT, got 5050$/],
    [[], { PORT: '65535' }, /^PORT: must be at most 65534 when H2C_PORT is not set, got 65535$/],
    [[], { HOST: '' }, /^HOST: must be an address or the name of a host, got ""$/],
    [['--x'], { PORT: 'a', H2C_PORT: 'b' }, /^arguments: /, /^PORT: /, /^H2C_PORT: /],
  ]
  for (const [args, env, ...expected] of rows) {
    const name = JSON.stringify([args, env])
    let problems: readonly string[] = []
    try {
      readCommandLine(args, env)
    } catch (error) {
      problems = (error as { problems: string[] }).problems
    }
    t.equal(problems.length, expected.length, `${name}: ${problems.join(' | ')}`)
    for (const [i, pattern] of expected.entries()) t.match(problems[i], pattern, name)
  }
})
