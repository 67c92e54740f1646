import fc from 'fast-check'
import t from 'tap'
import { DEFAULT_LIMITS, readLimits } from '../../../example-server/relay/settings.ts'

const VARIABLES = ['RATE_LIMIT_MINUTE', 'RATE_LIMIT_HOUR', 'RATE_LIMIT_DAY'].flatMap((name) => [name, `GLOBAL_${name}`])

function read(env: Record<string, string>, text?: string) {
  const problems: string[] = []
  const limits = readLimits(env, text === undefined ? undefined : { name: 'a.toml', text }, problems)
  return { limits, problems }
}

t.test('the defaults are those of the document', async (t) => {
  const limits = {
    sender: { minute: 20, hour: 200, day: 1000 },
    global: { minute: 1000, hour: 100_000, day: 1_000_000 },
  }
  t.same(DEFAULT_LIMITS, limits)
  t.same(read({}), { limits, problems: [] })
  t.same(read({}, ''), { limits, problems: [] })
})

t.test('the .env of the document', async (t) => {
  const env = {
    RATE_LIMIT_MINUTE: '50',
    RATE_LIMIT_HOUR: '500',
    RATE_LIMIT_DAY: '5000',
    GLOBAL_RATE_LIMIT_MINUTE: '5000',
    GLOBAL_RATE_LIMIT_HOUR: '500000',
    GLOBAL_RATE_LIMIT_DAY: '5000000',
  }
  t.same(read(env), {
    limits: {
      sender: { minute: 50, hour: 500, day: 5000 },
      global: { minute: 5000, hour: 500_000, day: 5_000_000 },
    },
    problems: [],
  })
})

t.test('a file says the same, and the environment goes over it', async (t) => {
  const file = `
    [rate_limit]
    minute = 1
    hour = 0
    [global_rate_limit]
    minute = -1
    hour = 1_000_000_000
    day = 6
  `
  t.same(read({}, file), {
    limits: { sender: { minute: 1, hour: 0, day: 1000 }, global: { minute: -1, hour: 1_000_000_000, day: 6 } },
    problems: [],
  })
  t.same(read({ RATE_LIMIT_MINUTE: '0', RATE_LIMIT_DAY: '-1', GLOBAL_RATE_LIMIT_MINUTE: '7' }, file), {
    limits: { sender: { minute: 0, hour: 0, day: -1 }, global: { minute: 7, hour: 1_000_000_000, day: 6 } },
    problems: [],
  })
})

t.test('what is no natural number, 0 or -1 is named', async (t) => {
  const wrong = [
    '',
    ' ',
    '-2',
    '-0',
    '+1',
    '01',
    '1.0',
    '1e3',
    '0x10',
    ' 1',
    '1 ',
    '1\n',
    '1_000',
    'NaN',
    'Infinity',
    'unlimited',
    '１',
    '1000000001',
    '9'.repeat(400),
  ]
  for (const name of VARIABLES) {
    for (const text of wrong) {
      const { problems } = read({ [name]: text })
      t.same(
        problems,
        [
          `${name}: must be a whole number from 1 to 1000000000, 0 (this window is not limited) or -1 (everything is blocked), got ${JSON.stringify(text)}`,
        ],
        text,
      )
    }
  }
  t.equal(
    read(Object.fromEntries(VARIABLES.map((name) => [name, 'x']))).problems.length,
    6,
    'each by a line of its own',
  )
})

t.test('any text stops the start or is the number that it says', async () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.integer().map(String),
        fc.double().map(String),
        fc.bigInt({ min: -(10n ** 12n), max: 10n ** 12n }).map(String),
      ),
      (text) => {
        const { limits, problems } = read({ RATE_LIMIT_HOUR: text })
        if (problems.length > 0) return problems.length === 1 && problems[0]!.startsWith('RATE_LIMIT_HOUR: ')
        return String(limits.sender.hour) === text && limits.sender.hour >= -1 && limits.sender.hour <= 1e9
      },
    ),
  )
})

t.test('what is wrong in a file is named, one problem a line', async (t) => {
  const rows: [toml: string, ...problems: RegExp[]][] = [
    ['[rate_limit]\nminute = 20.0', /^a\.toml: rate_limit\.minute: must be a whole number .*, got the float 20$/],
    ['[rate_limit]\nminute = "20"', /^a\.toml: rate_limit\.minute: .*, got a text of 2 bytes$/],
    ['[rate_limit]\nday = -2', /^a\.toml: rate_limit\.day: .*, got -2$/],
    ['[rate_limit]\nday = 99999999999999999999', /^a\.toml: rate_limit\.day: .*, got 99999999999999999999$/],
    ['[rate_limit]\nday = nan', /, got the float NaN$/],
    ['[rate_limit]\nday = []', /, got an array$/],
    ['[rate_limit]\nday = true', /, got something else$/],
    ['[rate_limit]\nday = 2026-01-01', /, got /],
    ['[rate_limit]\nweek = 1', /^a\.toml: rate_limit\.week: unknown key; allowed: minute, hour, day$/],
    ['[rate_limit]\n__proto__ = 1', /^a\.toml: rate_limit\.__proto__: unknown key/],
    ['rate_limit = 1', /^a\.toml: rate_limit: must be a table, got something else$/],
    ['[[rate_limit]]\nday = 1', /^a\.toml: rate_limit: must be a table, got an array$/],
    ['[rate_limits]', /^a\.toml: rate_limits: unknown key; allowed: rate_limit, global_rate_limit$/],
    ['[global_rate_limit]\nminute = -5\nhour = "x"\nfoo = 1\n[x]', /x: unknown/, /foo: unknown/, /minute/, /hour/],
  ]
  for (const [toml, ...patterns] of rows) {
    const { problems } = read({ RATE_LIMIT_MINUTE: '1', RATE_LIMIT_DAY: '1' }, toml)
    t.equal(problems.length, patterns.length, `${toml}: ${problems.join(' | ')}`)
    for (const [i, pattern] of patterns.entries()) t.match(problems[i], pattern)
  }
  for (const toml of ['[rate_limit', '[rate_limit]\nday = 1\nday = 2', 'a = 1.']) {
    t.throws(() => read({}, toml), { message: /^a\.toml: line \d+, column \d+: must be TOML: / }, toml)
  }
})
