import t from 'tap'
import { readCommandLine } from '../../../example-server/event-store/command-line.ts'
import type { StartProblem } from '../../../example-server/problem.ts'

function problems(args: string[], env: NodeJS.ProcessEnv = {}): readonly string[] {
  try {
    readCommandLine(args, env)
    return []
  } catch (error) {
    return (error as StartProblem).problems
  }
}

t.test('the defaults', async (t) => {
  t.same(readCommandLine([], {}), {
    help: false,
    host: '127.0.0.1',
    port: 5050,
    apiToken: 'demo-api-token',
    developmentMode: false,
  })
})

t.test('what can be set', async (t) => {
  const args = [
    '--rate-limit-requests-per-second',
    '16000',
    '--api-token=abc',
    '--database',
    'x.sqlite',
    '--development-mode',
  ]
  t.match(readCommandLine(args, { PORT: '0', HOST: '::1' }), {
    requestsPerSecond: 16_000,
    apiToken: 'abc',
    database: 'x.sqlite',
    developmentMode: true,
    port: 0,
    host: '::1',
  })
  t.equal(readCommandLine(['--rate-limit-requests-per-second=0'], {}).requestsPerSecond, 0)
})

t.test('a negative rate limit is refused in these words', async (t) => {
  for (const text of ['-1', '-16000', '-0.5', '-.5', '-1e3', '-1E-3', '-0x10', '-Infinity', `-${'9'.repeat(400)}`]) {
    for (const args of [
      ['--rate-limit-requests-per-second', text],
      [`--rate-limit-requests-per-second=${text}`],
      [`--rate-limit-requests-per-second= ${text}`],
    ]) {
      t.same(problems(args), ['you must not specify a negative rate limit'], args.join(' '))
    }
  }
})

t.test('nonsense is refused, one line each, and a token is not shown', async (t) => {
  for (const text of [
    '',
    'many',
    '1.5',
    '1e3',
    '0x10',
    '-',
    '1000000001',
    '99999999999999999999',
    ' 5',
    '-0',
    '--5',
    '-many',
    '-h',
    'NaN',
    '--help',
  ]) {
    const found = problems([`--rate-limit-requests-per-second=${text}`])
    t.match(
      found,
      [/^--rate-limit-requests-per-second: must be a whole number from 0 \(no limit\) to 1000000000, got /],
      text,
    )
    t.equal(found.length, 1)
  }
  t.same(problems(['--api-token', 'secret token']), [
    '--api-token: must be 1 to 1024 visible ASCII characters, got something else (not shown)',
  ])
  t.equal(problems(['--api-token=']).length, 1)
  t.match(problems(['--unknown']), [/^arguments: Unknown option '--unknown'; allowed: --api-token/])
  t.equal(problems(['--rate-limit-requests-per-second']).length, 1)
  t.equal(problems(['--rate-limit-requests-per-second', '--help']).length, 1)
  t.equal(problems(['--database=', '--rate-limit-requests-per-second=-5'], { PORT: 'x' }).length, 3)
})
