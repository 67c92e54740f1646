import t from 'tap'
import { parseConfig } from '../../../example-server/settlement/config.ts'
import { NETWORKS } from './harness.ts'

function parse(text: string, networks = NETWORKS) {
  return parseConfig(`${text}\n${networks}`, 'c.toml')
}

function ratesOf(text: string) {
  return Object.fromEntries([...parse(text).networks].map(([id, { rates }]) => [id, rates]))
}

/** What is wrong with it, a line for each. */
function problemsOf(text: string, networks?: string): string[] {
  try {
    parse(text, networks)
    return []
  } catch (error) {
    return (error as Error).message.split('\n')
  }
}

t.test('defaults, networks of their own, and "unlimited"', (t) => {
  const hour = { maxPerInterval: 1, intervalSeconds: 3600 }
  t.same(
    ratesOf(`
[rate-limiting.send-certificate]
max-per-epoch = 1
[rate-limiting.send-tx]
max-per-interval = 1
interval-duration = "1h"
[rate-limiting.network.1.send-tx]
max-per-interval = 1
interval-duration = "15min"
[rate-limiting.network.1.send-certificate]
max-per-epoch = 2
[rate-limiting.network.2]
send-tx = "unlimited"
send-certificate = "unlimited"
[rate-limiting.network.3]
send-certificate = "unlimited"
`),
    {
      1: { sendTx: { maxPerInterval: 1, intervalSeconds: 900 }, sendCertificate: { maxPerEpoch: 2 } },
      2: { sendTx: 'unlimited', sendCertificate: 'unlimited' },
      3: { sendTx: hour, sendCertificate: 'unlimited' },
      4: { sendTx: hour, sendCertificate: { maxPerEpoch: 1 } },
    },
  )
  t.same(ratesOf('')[1], { sendTx: 'unlimited', sendCertificate: 'unlimited' }, 'what is not configured')
  t.same(ratesOf('rate-limiting = { send-tx = "unlimited" }')[1]?.sendTx, 'unlimited')
  t.same(
    ratesOf('[rate-limiting]\nsend-tx = { max-per-interval = 0 }\nsend-certificate = { max-per-epoch = 0 }')[1],
    { sendTx: 'disabled', sendCertificate: 'disabled' },
    '0',
  )
  t.end()
})

t.test('interval-duration and time-interval alike, in every spelling of a duration', (t) => {
  const seconds = (key: string, value: string) => {
    const { sendTx } = ratesOf(`[rate-limiting.send-tx]\nmax-per-interval = 3\n${key} = ${value}`)[1]!
    return typeof sendTx === 'object' && sendTx.intervalSeconds
  }
  for (const key of ['interval-duration', 'time-interval']) {
    for (const [value, expected] of [
      ['"15min"', 900],
      ['"45min"', 2700],
      ['"3h"', 10_800],
      ['"1h 20min"', 4800],
      ['"PT1M"', 60],
      ['"PT1H"', 3600],
      ['60', 60],
      ['"100 days"', 8_640_000],
    ] as const) {
      t.equal(seconds(key, value), expected, `${key} = ${value}`)
    }
  }
  t.end()
})

t.test('case 3: what is no duration is refused by name', (t) => {
  for (const value of [
    '"P1M"',
    '"5x"',
    '"-5s"',
    '"PT0S"',
    '""',
    '"101 days"',
    '"1500ms"',
    '0',
    '-1',
    '1.5',
    'true',
    '[]',
  ]) {
    for (const key of ['interval-duration', 'time-interval']) {
      const [problem, ...more] = problemsOf(`[rate-limiting.send-tx]\nmax-per-interval = 3\n${key} = ${value}`)
      t.match(problem, `c.toml: rate-limiting.send-tx.${key}: must be a duration from 1 to 8640000 whole seconds`)
      t.same(more, [], value)
    }
  }
  t.end()
})

t.test('each mistake is one line that says where, what was found, and what is allowed', (t) => {
  const tx = '[rate-limiting.send-tx]\n'
  const rows: [text: string, problems: (string | RegExp)[]][] = [
    [
      `${tx}max-per-interval = 1\ninterval-duration = "1h"\ntime-interval = "1h"`,
      [/rate-limiting\.send-tx: must have interval-duration or time-interval.*, got both$/],
    ],
    [`${tx}max-per-interval = 1`, [/send-tx\.interval-duration: must be a duration such as .*, got nothing$/]],
    [`${tx}interval-duration = "1h"`, [/send-tx\.max-per-interval: must be a whole number from 0 .*, got nothing$/]],
    [tx, [/send-tx\.max-per-interval: .*, got nothing$/]],
    ...['-1', '1.5', '"3"', '"unlimited"', 'false', '100_001', 'inf', 'nan', '[1]', '{}', '1979-05-27'].map(
      (value): [string, RegExp[]] => [
        `${tx}max-per-interval = ${value}\ninterval-duration = "1h"`,
        [/send-tx\.max-per-interval: must be a whole number from 0 \(disabled\) to 100000, got /],
      ],
    ),
    [`${tx}max-per-interval = 0\ninterval-duration = "5x"`, [/send-tx\.interval-duration: must be a duration/]],
    [
      `${tx}max-per-interval = 1\ninterval-duration = "1h"\nmax = 1`,
      [/send-tx\.max: unknown key; allowed: max-per-int/],
    ],
    [
      '[rate-limiting]\nsend-tx = "unlimted"',
      [/rate-limiting\.send-tx: must be "unlimited" or a table, got "unlimted"$/],
    ],
    ['[rate-limiting]\nsend-tx = 0', [/send-tx: must be "unlimited" or a table, got 0$/]],
    ['[rate-limiting]\nsend-certificate = false', [/send-certificate: must be "unlimited" or a table, got false$/]],
    [
      '[rate-limiting.send-certificate]\nmax-per-epoch = "unlimited"',
      [/max-per-epoch: must be a whole number .*"unlimited"$/],
    ],
    [
      '[rate-limiting.send-certificate]\nmax-per-epoch = 1\nepoch-interval = 2',
      [/epoch-interval: unknown key; allowed: max-per-epoch$/],
    ],
    [
      '[rate-limiting.rpc.send-tx]\nmax-per-interval = 1',
      [/rate-limiting\.rpc: unknown key; allowed: send-tx, send-certificate, network$/],
    ],
    [
      '[rate-limiting.network.9.send-tx]\nmax-per-interval = 0',
      [/network\.9: must be one of networks, got .*\[networks\.9\]$/],
    ],
    [
      '[rate-limiting.network.1]\nenabled = false',
      [/network\.1\.enabled: unknown key; allowed: send-tx, send-certificate$/],
    ],
    ['[rate-limiting]\nnetwork = 1', [/rate-limiting\.network: must be a table, got 1$/]],
    ['[rate-limiting.network]\n1 = 1', [/rate-limiting\.network\.1: must be a table, got 1$/]],
    ['rate-limiting = 1', [/rate-limiting: must be a table, got 1$/]],
    ['rate_limiting = 1', [/rate_limiting: unknown key; allowed: rate-limiting, networks, epoch, l1$/]],
    [
      '[epoch]\nduration = "PT0S"\nlength = 1',
      [/epoch\.length: unknown key/, /epoch\.duration: must be a duration from 1/],
    ],
    ['epoch = 1', [/epoch: must be a table/]],
    [
      '[l1]\ndelay = "5x"\nfail-every = -1\nmore = 1',
      [/l1\.more: unknown/, /l1\.delay: must be/, /l1\.fail-every: must be/],
    ],
    ['"__proto__" = 1', [/__proto__: unknown key/]],
    ['[rate-limiting.network."__proto__"]', [/network\.__proto__: must be one of networks/]],
    ['[rate-limiting', [/^c\.toml: line 1, column \d+: must be TOML/]],
    ['a = 1\na = 2', [/^c\.toml: line 2, column \d+: must be TOML/]],
    [`${tx}max-per-interval = 99999999999999999999`, [/must be TOML/]],
  ]
  for (const [text, expected] of rows) {
    const problems = problemsOf(text)
    t.equal(problems.length, expected.length, `${text}\n${problems.join('\n')}`)
    for (const [i, pattern] of expected.entries()) t.match(problems[i], pattern, text)
    for (const problem of problems) t.match(problem, /^c\.toml: /)
  }
  t.end()
})

t.test('networks need keys that are keys; what was found is not shown', (t) => {
  const rows: [networks: string, pattern: RegExp][] = [
    ['', /networks: must be a table, got nothing$/],
    ['[networks]', /networks: must have at least one network, got none$/],
    ['networks = 1', /networks: must be a table, got something else$/],
    ['[networks.1]', /networks\.1\.public-key: must be the 32 bytes of an Ed25519 public key .*, got nothing$/],
    ['[networks.1]\npublic-key = "SECRET"', /networks\.1\.public-key: .*, got a text of 6 bytes$/],
    [`[networks.1]\npublic-key = "${'g'.repeat(64)}"`, /networks\.1\.public-key: .*, got a text of 64 bytes$/],
    [`[networks.1]\nprivate-key = "SECRET"`, /networks\.1\.private-key: unknown key; allowed: public-key$/],
    [`[networks.01]\npublic-key = "${'0'.repeat(64)}"`, /networks\.01: the id .* whole number from 0 to 4294967295$/],
    [`[networks.4294967296]\npublic-key = "${'0'.repeat(64)}"`, /networks\.4294967296: the id /],
    [`[networks.one]\npublic-key = "${'0'.repeat(64)}"`, /networks\.one: the id /],
    [`[networks]\n1 = "SECRET"`, /networks\.1: must be a table, got a text of 6 bytes$/],
  ]
  for (const [networks, pattern] of rows) {
    const problems = problemsOf('', networks)
    t.match(problems[0], pattern, networks)
    t.notMatch(problems.join(''), /SECRET/)
  }
  const many = Array.from({ length: 501 }, (_, i) => `[networks.${i}]\npublic-key = "${'0'.repeat(64)}"\n`).join('')
  t.same(problemsOf('[rate-limiting.send-tx]\nmax-per-interval = 100_000\ninterval-duration = "1h"', many), [
    'c.toml: rate-limiting: the max-per-interval of all networks must be at most 50000000 in sum, got 50100000',
  ])
  t.equal(parse('', `[networks.4294967295]\npublic-key = "0x${'0A'.repeat(32)}"`).networks.size, 1)
  t.end()
})
