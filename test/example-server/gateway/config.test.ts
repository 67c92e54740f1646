import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseConfig } from '../../../example-server/gateway/config.ts'
import { createGatewayServer } from '../../../example-server/gateway/server.ts'
import { StartProblem } from '../../../example-server/problem.ts'
import { FOLDER } from './harness.ts'

const file = join(FOLDER, 'gateway.toml')
const demo = new URL('http://127.0.0.1:1/')

function problemsOf(text: string): readonly string[] {
  try {
    parseConfig(text, file)
    return []
  } catch (error) {
    if (error instanceof StartProblem) return error.problems.map((line) => line.replace(`${file}: `, ''))
    throw error
  }
}

const route = (more: string, name = 'a') =>
  `[[routes]]\nname = "${name}"\nprefix = "/${name}"\nupstream = "http://h"\n${more}\n`
const rule = (more: string) => route(`rules = [{ ${more} }]`)
const user = (more: string) => `[[users]]\nname = "u"\n${more}\n`
const secret = 'a-secret-of-somebody'

t.test('the demo configuration is good', async (t) => {
  const { routes, users, adminToken } = parseConfig(readFileSync(file, 'utf8'), file, demo)
  t.same(
    routes.map(({ name }) => name),
    ['weather', 'shop', 'reports'],
  )
  t.equal(users.length, 3)
  t.equal(adminToken, 'demo-admin-token')
})

t.test('case 3: windows are ISO 8601, from PT1S to P1D, in whole seconds', async (t) => {
  const seconds = (window: string) =>
    parseConfig(rule(`per = "route", count = 1, window = "${window}"`), file).routes[0]!.rules[0]!.windowSeconds
  for (const [window, expected] of [
    ['PT1S', 1],
    ['PT1M', 60],
    ['PT1H', 3600],
    ['PT1H30M', 5400],
    ['PT24H', 86_400],
    ['P1D', 86_400],
  ] as const) {
    t.equal(seconds(window), expected, window)
  }
  for (const window of [
    '"PT0.5S"',
    '"P2D"',
    '"PT86401S"',
    '"P1M"',
    '"P1Y"',
    '"PT0S"',
    '"-PT5S"',
    '"PT1.5S"',
    '""',
    '"60"',
    '60',
    '"15min"',
    '"1h 20min"',
    '"5x"',
    '"PT1M "',
    '"pt1m"',
    '"P"',
    '"PT"',
    '[]',
    'true',
  ]) {
    const [problem, ...others] = problemsOf(rule(`per = "route", count = 1, window = ${window}`))
    t.same(others, [])
    t.match(
      problem,
      /^routes\[0\]\.rules\[0\]\.window: must be an ISO 8601 duration from PT1S to P1D, in whole seconds, got /,
      window,
    )
    if (window.startsWith('"')) t.ok(problem?.endsWith(`got ${window}`), problem ?? 'none')
  }
  t.match(problemsOf(rule('per = "route", count = 1')), [/window: .*, got nothing$/])
})

t.test('each mistake is one line that says where, what, and what is allowed', async (t) => {
  const good = 'per = "route", count = 1, window = "PT1M"'
  const rows: [text: string, ...problems: RegExp[]][] = [
    ['a = ', /^line 1, column \d+: must be TOML: /],
    ['foo = 1\nroute = 2', /^foo: unknown key; allowed: routes, users, /, /^route: unknown key/],
    ['nodes = 0', /^nodes: must be a whole number from 1 to 1000, got 0$/],
    ['nodes = "2"', /^nodes: .*, got "2"$/],
    ['max_memory_mib = 0.5', /^max_memory_mib: must be a whole number from 1 to 4096, got 0\.5$/],
    [
      'trusted_proxies = "10.0.0.0/8"',
      /^trusted_proxies: must be a list of up to 1000 networks, got "10\.0\.0\.0\/8"$/,
    ],
    ['trusted_proxies = [1]', /^trusted_proxies\[0\]: must be an address or a network$/],
    ['admin_token = "short"', /^admin_token: must be a secret of 16 to 256 of .*, got a text of 5 bytes$/],
    ['routes = 1', /^routes: must be a list of up to 1000 tables|^routes: must be a list of up to 1000 routes, got 1$/],
    ['routes = [1]', /^routes\[0\]: must be a table, got 1$/],
    [
      route('foo = 1'),
      /^routes\[0\]\.foo: unknown key; allowed: name, prefix, upstream, timeout, rules, openapi, operations$/,
    ],
    [route('') + route(''), /^routes\[1\]\.name: must be its own/, /^routes\[1\]\.prefix: must be its own/],
    [route('', 'A'), /^routes\[0\]\.name: must be a name of 1 to 32 of a-z 0-9 _ \. -/],
    ['[[routes]]', /name: .*, got nothing$/, /prefix: .*, got nothing$/, /upstream: .*, got nothing$/],
    ...['a', '/a/', '//a', '/a/../b', '/-', '/-/x', '/a?b', '/%61', ''].map((prefix): [string, RegExp] => [
      `[[routes]]\nname = "a"\nprefix = "${prefix}"\nupstream = "http://h"`,
      /^routes\[0\]\.prefix: must be a path such as "\/orders"/,
    ]),
    ...['h', 'ftp://h', 'http://h/?a', 'http://h/#a', 'demo', '//h', 'file:///etc/passwd', 'http://h/%2f'].map(
      (upstream): [string, RegExp] => [
        `[[routes]]\nname = "a"\nprefix = "/a"\nupstream = "${upstream}"`,
        /^routes\[0\]\.upstream: must be a URL of http or https with host, port and path only, got "/,
      ],
    ),
    [route('timeout = "PT0S"'), /^routes\[0\]\.timeout: must be an ISO 8601 duration/],
    [route('rules = {}'), /^routes\[0\]\.rules: must be a list of up to 16 rules, got a table$/],
    [
      route(`rules = [${`{ ${good} },`.repeat(17)}]`),
      /^routes\[0\]\.rules: must be a list of up to 16 rules, got a list of 17$/,
    ],
    [
      rule('per = "everyone", count = 1, window = "PT1M"'),
      /^routes\[0\]\.rules\[0\]\.per: must be one of route, user, token, organisation, address, got "everyone"$/,
    ],
    [rule('per = "constructor", count = 1, window = "PT1M"'), /\.per: /],
    ...['0', '-1', '1.5', '"5"', '1_000_000_001', 'nan', 'inf', '[]'].map((count): [string, RegExp] => [
      rule(`per = "route", count = ${count}, window = "PT1M"`),
      /\.count: must be a whole number from 1 to 1000000000, got /,
    ]),
    [rule(`${good}, burst = 1`), /^routes\[0\]\.rules\[0\]\.burst: unknown key; allowed: per, only, count, window$/],
    [
      rule(`${good}, only = "partner"`),
      /\.only: must be an Access, such as \{ roles = \["partner"\] \}, got "partner"$/,
    ],
    [rule(`${good}, only = { users = ["alice"] }`), /\.only\.users: unknown key; allowed: roles$/],
    [rule(`${good}, only = { roles = "partner" }`), /\.only\.roles: must be a list of up to 32 roles, got "partner"$/],
    [rule(`${good}, only = { roles = ["Partner"] }`), /\.only\.roles\[0\]: must be a name/],
    [
      route('operations = [{ operation = "readOrder", rules = [] }]'),
      /operations\[0\]\.rules: must be at least one rule, got none$/,
      /operations\[0\]\.operation: must be an operation of the OpenAPI file: .*, got "readOrder"$/,
    ],
    [
      route(`openapi = "shop.yaml"\noperations = [{ operation = "nope", rules = [{ ${good} }] }]`),
      /operation: must be an operation of the OpenAPI file/,
    ],
    [
      route(
        `openapi = "shop.yaml"\noperations = [{ operation = "readOrder", rules = [{ ${good} }] }, { operation = "GET /orders/{id}", rules = [{ ${good} }] }]`,
      ),
      /operations\[1\]\.operation: must be named once, got "GET \/orders\/\{id\}" again$/,
    ],
    [user('') + user(''), /^users\[1\]\.name: must be its own, got the one of another user$/],
    [user('rolls = []'), /^users\[0\]\.rolls: unknown key; allowed: name, organisation, roles, sessions, tokens$/],
    [
      user(`sessions = ["${secret}", "${secret}"]`),
      /^users\[0\]\.sessions\[1\]: must be a secret of its own, got the one of users\[0\]\.sessions\[0\]$/,
    ],
    [
      user(`sessions = ["${secret} x"]`),
      /^users\[0\]\.sessions\[0\]: must be a secret of 16 to 256 .*, got a text of 22 bytes$/,
    ],
    [user(`tokens = { ${secret} = "b" }`), /^users\[0\]\.tokens, entry 1: must be a secret .*, got a text of 1 bytes$/],
    [
      user(`tokens = "${secret}"`),
      /^users\[0\]\.tokens: must be a table of tokens by their names, got a text of 20 bytes$/,
    ],
    [user(`organisation = "${secret} !"`), /^users\[0\]\.organisation: must be a name .*, got a text of 22 bytes$/],
  ]
  for (const [text, ...problems] of rows) {
    const found = problemsOf(text)
    t.equal(found.length, problems.length, `${text}\n${found.join('\n')}`)
    for (const [i, pattern] of problems.entries()) t.match(found[i], pattern, text)
    t.notMatch(found.join(), secret)
  }
})

t.test('what only the plugin can check stops the start, too', async (t) => {
  const start = (text: string) => createGatewayServer({ config: parseConfig(text, file), log: false })
  await t.rejects(
    start('trusted_proxies = ["10.0.0.0/99"]'),
    /^.*gateway\.toml: trusted_proxies\[0\]: "10\.0\.0\.0\/99" has /,
  )
  const rules = route(`rules = [${'{ per = "address", count = 1, window = "PT1M" },'.repeat(16)}]`)
  await t.rejects(
    start(`max_memory_mib = 1\n${rules}`),
    /^.*gateway\.toml: max_memory_mib: must be enough for the counters of all rules, got 1: too little for the route a$/,
  )
})
