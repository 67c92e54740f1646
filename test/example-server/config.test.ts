import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { exportJWK, generateKeyPair } from 'jose'
import t from 'tap'
import { loadConfig, parseConfig } from '../../example-server/config.ts'
import { StartProblem } from '../../example-server/problem.ts'

const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
const dir = t.testdir({
  'public.json': JSON.stringify({ keys: [await exportJWK(publicKey)] }),
  'private.json': JSON.stringify({ keys: [await exportJWK(privateKey)] }),
  'empty.json': '{"keys":[]}',
  'nonsense.json': '7',
  'no-json.json': 'nonsense',
})
const file = join(dir, 'server.toml')
const SECRET = 'this is a secret that must not be shown'

function problemsOf(toml: string): string[] {
  try {
    parseConfig(toml, file)
    return []
  } catch (error) {
    if (!(error instanceof StartProblem)) throw error
    return error.problems.map((problem) => problem.replace(`${file}: `, ''))
  }
}

/** An override of the caller that has these keys. */
const override = (caller: string) =>
  `[[rate_limits.overrides]]\ncaller = { ${caller} }\ncategories = { publish = [] }\n`

const rows: [toml: string, ...problems: RegExp[]][] = [
  ['x = ', /^line 1, column \d+: must be TOML: /],
  [`secret = "${SECRET}`, /^line 1, column \d+: must be TOML: /],
  ['ratelimits = 1', /^ratelimits: unknown key; allowed: rate_limits, auth$/],
  ['rate_limits = 1', /^rate_limits: must be a table/],
  ['[rate_limits]\nlimit = 1', /^rate_limits: unknown key "limit"/],
  ['[rate_limits]\nenabled = "yes"', /^rate_limits\.enabled: must be true or false, got "yes"/],
  ['[rate_limits]\nmax_memory_mib = 0', /^rate_limits\.max_memory_mib: must be a whole number from 1 to 4096, got 0/],
  ['[rate_limits]\ntrusted_proxies = ["10.0.0.0/33"]', /^rate_limits\.trusted_proxies\[0\]: .*10\.0\.0\.0\/33/],
  [
    '[rate_limits.categories.publish]\ndefault = [{ count = -1, window_seconds = 60 }]',
    /^rate_limits\.categories\.publish\.default\[0\]\.count: must be a whole number from 1 to 1000000000, got -1/,
  ],
  [
    '[rate_limits.categories.publish]\ndefault = [{ count = 1, windows = 60 }]',
    /^rate_limits\.categories\.publish\.default\[0\]: unknown key "windows" \(did you mean "window"/,
    /^rate_limits\.categories\.publish\.default\[0\]\.window_seconds: is missing/,
  ],
  [
    '[[rate_limits.overrides]]\ncaller = { type = "api_key", name = "a" }\ncategories = { publsh = [] }\n[auth.api_keys]\na = "12345678"',
    /^rate_limits\.overrides\[0\]\.categories\.publsh: is not a declared category \(did you mean "publish"/,
  ],
  ['auth = 7', /^auth: must be a table, got something else$/],
  ['[auth]\nkeys = 1', /^auth\.keys: unknown key; allowed: api_keys, issuers$/],
  ['[auth]\napi_keys = ["a"]', /^auth\.api_keys: must be a table of keys by their names, got an array$/],
  [
    '[auth.api_keys]\na = "short"',
    /^auth\.api_keys\.a: must be a key of 8 to 256 visible ASCII characters, got a text of 5 bytes$/,
  ],
  [`[auth.api_keys]\na = "${SECRET}"`, /^auth\.api_keys\.a: .*, got a text of 39 bytes$/],
  ['[auth.api_keys]\n"a b" = 7', /^auth\.api_keys\."a b": .*, got something else$/],
  [
    '[auth.api_keys]\na = "12345678"\nb = "12345678"',
    /^auth\.api_keys\.b: must be a key of its own, got the one of auth\.api_keys\.a$/,
  ],
  ['[auth]\nissuers = 7', /^auth\.issuers: must be an array of tables \(\[\[auth\.issuers\]\]\), got something else$/],
  ['[auth]\nissuers = [7]', /^auth\.issuers\[0\]: must be a table, got something else$/],
  [
    '[[auth.issuers]]\niss = 7\nsecret = "x"',
    /^auth\.issuers\[0\]\.iss: must be a text, got something else$/,
    /^auth\.issuers\[0\]\.secret: /,
  ],
  ['[[auth.issuers]]\niss = "a"', /^auth\.issuers\[0\]: must have either secret or jwks_file, got neither$/],
  [
    `[[auth.issuers]]\nsecret = "${SECRET}"\njwks_file = "public.json"`,
    /^auth\.issuers\[0\]: must have either secret or jwks_file, got both$/,
  ],
  [
    '[[auth.issuers]]\nsecret = "too short"',
    /^auth\.issuers\[0\]\.secret: must be a text of at least 32 bytes for HS256, got a text of 9 bytes$/,
  ],
  [
    `[[auth.issuers]]\nsecret = "${SECRET}"\nalg = "HS512"`,
    /^auth\.issuers\[0\]\.secret: must be a text of at least 64 bytes for HS512, got a text of 39 bytes$/,
  ],
  [
    `[[auth.issuers]]\nsecret = "${SECRET}"\nalg = "none"`,
    /^auth\.issuers\[0\]\.alg: must be one of HS256, HS384, HS512, got a text of 4 bytes$/,
  ],
  [`[[auth.issuers]]\nsecret = "${SECRET}"\nalg = "RS256"`, /^auth\.issuers\[0\]\.alg: must be one of HS256, /],
  [
    '[[auth.issuers]]\njwks_file = "public.json"\nalg = "HS256"',
    /^auth\.issuers\[0\]\.alg: must be one of ES256, .*, got a text of 5 bytes$/,
  ],
  [
    '[[auth.issuers]]\njwks_file = "missing.json"',
    /^auth\.issuers\[0\]\.jwks_file: must be a file .*, got a text of 12 bytes \(ENOENT\)$/,
  ],
  ['[[auth.issuers]]\njwks_file = "private.json"', /jwks_file: .*, got a text of 12 bytes \(with a secret key\)$/],
  ['[[auth.issuers]]\njwks_file = "empty.json"', /jwks_file: .*, got a text of 10 bytes \(without keys\)$/],
  ['[[auth.issuers]]\njwks_file = "nonsense.json"', /jwks_file: must be a file with a JSON Web Key Set/],
  ['[[auth.issuers]]\njwks_file = "no-json.json"', /jwks_file: must be a file with a JSON Web Key Set/],
  [
    `[[auth.issuers]]\nsecret = "${SECRET}"\naudience = ["a"]`,
    /^auth\.issuers\[0\]\.audience: must be a text, got an array$/,
  ],
  [`[[auth.issuers]]\nsecret = "${SECRET}"\naud = "a"`, /^auth\.issuers\[0\]\.aud: unknown key; allowed: iss, /],
  [
    `[[auth.issuers]]\niss = "a"\nsecret = "${SECRET}"\n[[auth.issuers]]\niss = "a"\nsecret = "${SECRET}"`,
    /^auth\.issuers\[1\]\.iss: must be an issuer of its own, got the one of auth\.issuers\[0\] /,
  ],
  [
    `[[auth.issuers]]\nsecret = "${SECRET}"\n[[auth.issuers]]\niss = ""\nsecret = "${SECRET}"`,
    /^auth\.issuers\[1\]\.iss: must be an issuer of its own/,
  ],
  [
    '[rate_limits]\ntrusted_proxies = []\ntrustedProxies = []\nmax_memory_mib = 1\nmaxMemoryMib = 1',
    /^rate_limits: "trusted_proxies" and "trustedProxies" are one key in two spellings, write only one; "max_memory_mib" and "maxMemoryMib" are one key in two spellings, write only one$/,
  ],
  [
    '[rate_limits.categories.publish]\ndefault = [{ count = 1, window_seconds = 1, windowSeconds = 1 }]',
    /^rate_limits\.categories\.publish\.default\[0\]: "window_seconds" and "windowSeconds" are one key in two spellings/,
  ],
  [
    `${override('type = "api_key", name = "indxer"')}[auth.api_keys]\nindexer = "12345678"`,
    /^rate_limits\.overrides\[0\]\.caller\.name: must be the name of a key in auth\.api_keys \(not the key\), got a text of 6 bytes$/,
  ],
  [
    override('type = "api_key", name = "indexer"'),
    /^rate_limits\.overrides\[0\]\.caller\.name: must be the name of a key/,
  ],
  [
    `${override('type = "jwt", iss = "b", sub = "a"')}[[auth.issuers]]\niss = "a"\nsecret = "${SECRET}"`,
    /^rate_limits\.overrides\[0\]\.caller\.iss: must be the iss of one of auth\.issuers, got a text of 1 bytes$/,
  ],
  [override('type = "jwt", sub = "a"'), /^rate_limits\.overrides\[0\]\.caller\.iss: must be the iss of .*, got none$/],
  [`${override('type = "jwt", sub = "a"')}[[auth.issuers]]\nsecret = "${SECRET}"`],
  [override('type = "ip", address = "192.0.2.1"')],
  [
    'nonsense = 1\n[rate_limits]\nenabled = 7\n[auth.api_keys]\na = ""',
    /^nonsense: /,
    /^rate_limits\.enabled: /,
    /^auth\.api_keys\.a: /,
  ],
]

t.test('what is wrong in a configuration is named, one problem a line, without secrets', async (t) => {
  for (const [toml, ...expected] of rows) {
    const problems = problemsOf(toml)
    t.equal(problems.length, expected.length, `${toml}: ${problems.join(' | ')}`)
    for (const [i, pattern] of expected.entries()) t.match(problems[i], pattern, toml)
    t.notMatch(problems.join('\n'), SECRET, 'no secret is shown')
    for (const problem of problems) t.notMatch(problem, '\n')
  }
})

t.test('a file that cannot be read', async (t) => {
  const missing = /^--config: must be a file that can be read, got ".*missing.toml" \(ENOENT\)$/
  t.throws(() => loadConfig(join(dir, 'missing.toml')), { message: missing })
  t.throws(() => loadConfig(dir), { message: /\(EISDIR\)$/ })
})

t.test('the demo configuration, and what may be left out', async (t) => {
  const { auth, limiter } = loadConfig('example-server/demo.toml')
  t.same([...auth.apiKeys.keys()], ['demo', 'indexer'])
  t.match(auth.issuers, [{ alg: 'HS256' }, { audience: 'example-server' }])
  const count = (caller: Parameters<typeof limiter.remaining>[0], category: string) =>
    limiter
      .remaining(caller, category)
      .map(({ limit }) => 'windowSeconds' in limit && [limit.count, limit.windowSeconds])
  t.same(count({ type: 'ip', address: '192.0.2.1' }, 'publish'), [
    [5, 60],
    [100, 3600],
  ])
  t.same(count({ type: 'api_key', name: 'demo' }, 'publish'), [[10, 60]])
  t.same(count({ type: 'api_key', name: 'indexer' }, 'publish'), [[50_000, 60]])
  t.same(count({ type: 'api_key', name: 'indexer' }, 'request'), [])
  t.same(count({ type: 'api_key', name: 'demo' }, 'chain_verify'), [
    [200, 60],
    [2000, 3600],
  ])

  const empty = parseConfig('', file)
  t.same([...empty.auth.apiKeys, ...empty.auth.issuers], [])
  t.same(empty.limiter.remaining({ type: 'ip', address: '192.0.2.1' }, 'upload').length, 2)
})

t.test('a key set is found beside the configuration; a key may be named anything', async (t) => {
  writeFileSync(
    file,
    '[auth.api_keys]\n__proto__ = "12345678"\n"" = "abcdefgh"\n[[auth.issuers]]\niss = "a"\njwks_file = "public.json"\n',
  )
  const { auth } = loadConfig(file)
  t.same(
    [...auth.apiKeys],
    [
      ['__proto__', '12345678'],
      ['', 'abcdefgh'],
    ],
  )
  t.match(auth.issuers, [{ iss: 'a', alg: 'ES256', key: { jwks: { keys: [{ kty: 'EC' }] } } }])
})
