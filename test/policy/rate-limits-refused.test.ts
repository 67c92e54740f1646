import { parse as parseToml } from 'smol-toml'
import t from 'tap'
import { AllowanceOptionsError } from '../../src/policy/options-error.ts'
import { parseRateLimits } from '../../src/policy/rate-limits.ts'
import { deepFreeze, objectsIn } from './deep-freeze.ts'

const ok = { count: 1, windowSeconds: 60 }
const indexer = { type: 'api_key', name: 'indexer' }
const publish = (list: unknown) => ({ categories: { publish: { default: list } } })
const override = (caller: unknown, categories: unknown = { publish: [] }) => ({ overrides: [{ caller, categories }] })
const both = (one: unknown, other: unknown) => ({
  overrides: [
    { caller: one, categories: { publish: [] } },
    { caller: other, categories: { push: [] } },
  ],
})

const P = 'rateLimits.categories.publish.default'
const COUNT = 'must be a whole number from 1 to 1000000000'
const WINDOW = 'must be a whole number from 1 to 8640000'
const MEMORY = 'must be a whole number from 1 to 4096'
const LIMIT = 'kind, count, window, windowSeconds, epoch, nextEpochInMs'
const TOP = 'enabled, trustedProxies, maxMemoryMib, boundsMemoryMib, categories, overrides'
const BUILT_IN = 'request, publish, identity_update, chain_verify, push, upload, stream_rent'
const NAME = 'a category name must have 1 to 64 characters of a-z, 0-9, "_", "." and "-"'
const CATEGORY = 'must be an object with the keys default, api_key, jwt, ip'
const NEEDS_DEFAULT = 'is missing; a category that is not built in needs default limits'

// one row for each way to get it wrong
const rows: readonly [name: string, input: unknown, ...lines: string[]][] = [
  ['count 0', publish([{ ...ok, count: 0 }]), `${P}[0].count: ${COUNT}, got 0`],
  ['count -1', publish([{ ...ok, count: -1 }]), `${P}[0].count: ${COUNT}, got -1`],
  ['count 1.5', publish([{ ...ok, count: 1.5 }]), `${P}[0].count: ${COUNT}, got 1.5`],
  ['count NaN', publish([{ ...ok, count: Number.NaN }]), `${P}[0].count: ${COUNT}, got NaN`],
  ['count Infinity', publish([{ ...ok, count: Infinity }]), `${P}[0].count: ${COUNT}, got Infinity`],
  ['count "10"', publish([{ ...ok, count: '10' }]), `${P}[0].count: ${COUNT}, got "10"`],
  ['count 10n', publish([{ ...ok, count: 10n }]), `${P}[0].count: ${COUNT}, got 10n`],
  ['count null', publish([{ ...ok, count: null }]), `${P}[0].count: ${COUNT}, got null`],
  ['count too large', publish([{ ...ok, count: 1_000_000_001 }]), `${P}[0].count: ${COUNT}, got 1000000001`],
  ['count missing', publish([{ windowSeconds: 60 }]), `${P}[0].count: is missing; ${COUNT}`],
  ['window 0', publish([{ ...ok, windowSeconds: 0 }]), `${P}[0].windowSeconds: ${WINDOW}, got 0`],
  ['window 0, snake_case', publish([{ count: 1, window_seconds: 0 }]), `${P}[0].window_seconds: ${WINDOW}, got 0`],
  ['window 0.5', publish([{ ...ok, windowSeconds: 0.5 }]), `${P}[0].windowSeconds: ${WINDOW}, got 0.5`],
  [
    'window over 100 days',
    publish([{ ...ok, windowSeconds: 8_640_001 }]),
    `${P}[0].windowSeconds: ${WINDOW}, got 8640001`,
  ],
  ['window as a duration', publish([{ ...ok, windowSeconds: '1m' }]), `${P}[0].windowSeconds: ${WINDOW}, got "1m"`],
  ['window missing', publish([{ count: 1 }]), `${P}[0].windowSeconds: is missing; ${WINDOW}`],
  [
    'four limits',
    publish([1, 2, 3, 4].map((windowSeconds) => ({ count: 1, windowSeconds }))),
    `${P}: must be a list of up to 3 limits, got 4`,
  ],
  [
    'two limits with one window',
    publish([ok, { count: 5, windowSeconds: 3600 }, { count: 2, window_seconds: 60 }]),
    `${P}[2].window_seconds: must differ from the window of [0] in the same list, got 60 in both`,
  ],
  [
    'a limit without its list',
    publish(ok),
    `${P}: must be a list of up to 3 limits, got { count: 1, windowSeconds: 60 }`,
  ],
  ['no list', publish(null), `${P}: must be a list of up to 3 limits, got null`],
  ['a limit that is none', publish([7]), `${P}[0]: must be an object with the keys ${LIMIT}, got 7`],
  [
    'an unknown key in a limit',
    publish([{ ...ok, windowSecond: 1 }]),
    `${P}[0]: unknown key "windowSecond" (did you mean "windowSeconds"?); known keys: ${LIMIT}`,
  ],
  ...['windowMs', 'windowMilliseconds', 'windowMinutes', 'windowHours', 'windowMS', 'widnowMs'].map(
    (key): [string, unknown, string] => [
      `a window in another unit: ${key}`,
      publish([{ ...ok, [key]: 60_000 }]),
      `${P}[0]: unknown key "${key}" (did you mean "windowSeconds"? It is in seconds: windowSeconds: 60); known keys: ${LIMIT}`,
    ],
  ),
  [
    'a window in another unit, snake_case',
    publish([{ ...ok, window_ms: 60_000 }]),
    `${P}[0]: unknown key "window_ms" (did you mean "window_seconds"? It is in seconds: window_seconds: 60); known keys: kind, count, window, window_seconds, epoch, next_epoch_in_ms`,
  ],
  [
    'an unknown key that ends as a unit does',
    publish([{ ...ok, items: 1 }]),
    `${P}[0]: unknown key "items"; known keys: ${LIMIT}`,
  ],
  [
    'an unknown key in a limit, snake_case',
    publish([{ count: 1, window_seconds: 1, burst_size: 2 }]),
    `${P}[0]: unknown key "burst_size"; known keys: kind, count, window, window_seconds, epoch, next_epoch_in_ms`,
  ],
  [
    'one key in both spellings',
    publish([{ ...ok, window_seconds: 60 }]),
    `${P}[0]: "window_seconds" and "windowSeconds" are one key in two spellings, write only one`,
  ],
  [
    'a category in another spelling of an auth type',
    { categories: { publish: { apiKey: [] } } },
    'rateLimits.categories.publish: unknown key "apiKey" (did you mean "api_key"?); known keys: default, api_key, jwt, ip',
  ],
  [
    'a category that is a list',
    { categories: { publish: [ok] } },
    `rateLimits.categories.publish: ${CATEGORY}, got [ { count: 1, windowSeconds: 60 } ]`,
  ],
  [
    'a category that is undefined',
    { categories: { publish: undefined } },
    `rateLimits.categories.publish: is missing; ${CATEGORY}`,
  ],
  [
    'categories as a Map',
    { categories: new Map() },
    'rateLimits.categories: must be an object of limits by category, got Map(0) {}',
  ],
  [
    'categories as a list',
    { categories: [] },
    'rateLimits.categories: must be an object of limits by category, got []',
  ],
  [
    "a category of one's own without default",
    { categories: { thumbnail: { ip: [ok] } } },
    `rateLimits.categories.thumbnail.default: ${NEEDS_DEFAULT}`,
  ],
  [
    'a built-in category misspelt',
    { categories: { publsh: { ip: [ok] } } },
    `rateLimits.categories.publsh.default: ${NEEDS_DEFAULT} (did you mean "publish"?)`,
  ],
  ['an empty category name', { categories: { '': { default: [] } } }, `rateLimits.categories[""]: ${NAME}`],
  [
    'a category name with a line break',
    { categories: { 'a\nb': { default: [] } } },
    `rateLimits.categories["a\\nb"]: ${NAME}`,
  ],
  [
    'a category name in capitals',
    { categories: { Publish: { default: [] } } },
    `rateLimits.categories.Publish: ${NAME}`,
  ],
  [
    'a category name too long',
    { categories: { ['x'.repeat(65)]: { default: [] } } },
    `rateLimits.categories.${'x'.repeat(65)}: ${NAME}`,
  ],
  [
    'an unknown category in an override',
    override(indexer, { publsh: [ok] }),
    `rateLimits.overrides[0].categories.publsh: is not a declared category (did you mean "publish"?); declared: ${BUILT_IN}`,
  ],
  [
    "an unknown category in an override, with one of one's own",
    { ...override(indexer, { constructor: [] }), categories: { thumbnail: { default: [] } } },
    `rateLimits.overrides[0].categories.constructor: is not a declared category; declared: ${BUILT_IN}, thumbnail`,
  ],
  [
    'an override of no category',
    override(indexer, {}),
    'rateLimits.overrides[0].categories: must name at least one category',
  ],
  [
    'an override without categories',
    { overrides: [{ caller: indexer }] },
    'rateLimits.overrides[0].categories: is missing; must be an object of lists of limits by category',
  ],
  [
    'an override that sets undefined',
    override(indexer, { publish: undefined }),
    'rateLimits.overrides[0].categories.publish: is missing; must be a list of up to 3 limits',
  ],
  [
    'an override with a bad limit',
    override(indexer, { publish: [{ ...ok, count: 0 }] }),
    `rateLimits.overrides[0].categories.publish[0].count: ${COUNT}, got 0`,
  ],
  [
    'an override by auth type',
    override(indexer, { publish: { default: [] } }),
    'rateLimits.overrides[0].categories.publish: must be a list of up to 3 limits, got { default: [] }',
  ],
  ['overrides as an object', { overrides: {} }, 'rateLimits.overrides: must be a list of overrides, got {}'],
  [
    'an override that is null',
    { overrides: [null] },
    'rateLimits.overrides[0]: must be an object with the keys caller, categories, got null',
  ],
  [
    'an override that is a Map',
    { overrides: [Object.assign(new Map(), { caller: { type: 'jwt' } })] },
    "rateLimits.overrides[0]: must be an object with the keys caller, categories, got Map(0) { caller: { type: 'jwt' } }",
  ],
  [
    'an unknown key in an override',
    { overrides: [{ caller: indexer, categories: { publish: [] }, limits: [] }] },
    'rateLimits.overrides[0]: unknown key "limits"; known keys: caller, categories',
  ],
  [
    'two overrides for one API key',
    both(indexer, { ...indexer }),
    'rateLimits.overrides[1].caller: is the same caller as that of overrides[0]',
  ],
  [
    'two overrides for one /64',
    both({ type: 'ip', address: '2001:db8::1' }, { type: 'ip', address: '2001:db8:0:0:ffff::2' }),
    'rateLimits.overrides[1].caller: is the same caller as that of overrides[0] (an IPv6 address stands for its whole /64)',
  ],
  [
    'two overrides for one IPv4 address',
    both({ type: 'ip', address: '203.0.113.9' }, { type: 'ip', address: '::ffff:203.0.113.9' }),
    'rateLimits.overrides[1].caller: is the same caller as that of overrides[0]',
  ],
  [
    'two overrides for one JWT without iss',
    both({ type: 'jwt', sub: 'u' }, { type: 'jwt', iss: '', sub: 'u' }),
    'rateLimits.overrides[1].caller: is the same caller as that of overrides[0] (no iss and an empty iss are the same)',
  ],
  [
    'trusted proxies as a string',
    { trustedProxies: 'unix' },
    'rateLimits.trustedProxies: must be a list of networks, addresses or "unix", got "unix"',
  ],
  [
    'a trusted proxy that is no string',
    { trustedProxies: ['unix', 10] },
    'rateLimits.trustedProxies[1]: must be a network, an address or "unix", as a string, got 10',
  ],
  ['enabled as a string', { enabled: 'false' }, 'rateLimits.enabled: must be true or false, got "false"'],
  ['enabled as a number', { enabled: 0 }, 'rateLimits.enabled: must be true or false, got 0'],
  ['memory 0', { maxMemoryMib: 0 }, `rateLimits.maxMemoryMib: ${MEMORY}, got 0`],
  ['memory 0.5', { maxMemoryMib: 0.5 }, `rateLimits.maxMemoryMib: ${MEMORY}, got 0.5`],
  ['memory too large', { maxMemoryMib: 4097 }, `rateLimits.maxMemoryMib: ${MEMORY}, got 4097`],
  ['memory null, snake_case', { max_memory_mib: null }, `rateLimits.max_memory_mib: ${MEMORY}, got null`],
  ['memory as text', { maxMemoryMib: '64 MiB' }, `rateLimits.maxMemoryMib: ${MEMORY}, got "64 MiB"`],
  [
    'an unknown key',
    { maxMemory: 64 },
    `rateLimits: unknown key "maxMemory" (did you mean "maxMemoryMib"?); known keys: ${TOP}`,
  ],
  [
    'an unknown key, snake_case',
    { trusted_proxy: [] },
    'rateLimits: unknown key "trusted_proxy" (did you mean "trusted_proxies"?); known keys: enabled, trusted_proxies, max_memory_mib, bounds_memory_mib, categories, overrides',
  ],
  [
    'a key __proto__',
    JSON.parse('{"__proto__": {"enabled": false}}'),
    `rateLimits: unknown key "__proto__"; known keys: ${TOP}`,
  ],
  [
    'the whole in both spellings',
    { maxMemoryMib: 1, max_memory_mib: 1, trustedProxies: [], trusted_proxies: [] },
    'rateLimits: "max_memory_mib" and "maxMemoryMib" are one key in two spellings, write only one; "trusted_proxies" and "trustedProxies" are one key in two spellings, write only one',
  ],
  ['null', null, `rateLimits: must be an object with the keys ${TOP}, got null`],
  ['a list', [], `rateLimits: must be an object with the keys ${TOP}, got []`],
  ['a Map', new Map(), `rateLimits: must be an object with the keys ${TOP}, got Map(0) {}`],
  [
    'inherited options',
    Object.create({ enabled: false }),
    `rateLimits: must be an object with the keys ${TOP}, got {}`,
  ],
  [
    'several at once',
    {
      enabled: 1,
      limit: 1,
      categories: { push: { default: [{ count: 0, windowSeconds: 0 }, ok, ok] }, thumbnail: {} },
      overrides: [{ caller: indexer, categories: { other: [{}] } }, { caller: indexer }],
    },
    'rateLimits.enabled: must be true or false, got 1',
    `rateLimits.categories.push.default[0].count: ${COUNT}, got 0`,
    `rateLimits.categories.push.default[0].windowSeconds: ${WINDOW}, got 0`,
    'rateLimits.categories.push.default[2].windowSeconds: must differ from the window of [1] in the same list, got 60 in both',
    `rateLimits.overrides[0].categories.other[0].count: is missing; ${COUNT}`,
    `rateLimits.overrides[0].categories.other[0].windowSeconds: is missing; ${WINDOW}`,
    'rateLimits.overrides[1].categories: is missing; must be an object of lists of limits by category',
    `rateLimits: unknown key "limit"; known keys: ${TOP}`,
    `rateLimits.categories.thumbnail.default: ${NEEDS_DEFAULT}`,
    `rateLimits.overrides[0].categories.other: is not a declared category; declared: ${BUILT_IN}, thumbnail`,
    'rateLimits.overrides[1].caller: is the same caller as that of overrides[0]',
  ],
]

for (const [name, input, ...lines] of rows) {
  t.test(`case 12: ${name}`, async (t) => {
    const error = refusal(input)
    t.strictSame(error.message.split('\n'), lines)
    t.equal(error.code, 'ALLOWANCE_OPTIONS')
    t.equal(error.name, 'AllowanceOptionsError')
    t.strictSame(
      error.problems.map(({ path, message }) => `${path}: ${message}`),
      lines,
    )
    t.equal(error.path, error.problems[0]?.path)
    t.notOk([...objectsIn(input)].some(Object.isFrozen), 'the input is not frozen')
  })
}

// what is wrong with it is for the caller's module to say, and tested there
const callers: readonly [caller: unknown, path: string, shown: RegExp][] = [
  [undefined, '', /^is missing; must be /],
  ['indexer', '', /^must be .*, got "indexer"$/],
  [{ type: 'apikey', name: 'a' }, '.type', /^must be .*api_key.*, got "apikey"$/],
  [{ name: 'a' }, '.type', /^is missing; must be /],
  [{ type: 'api_key', name: 5 }, '.name', /^must be .*, got 5$/],
  [{ type: 'api_key' }, '.name', /^is missing; must be /],
  [{ type: 'jwt', iss: 'a' }, '.sub', /^is missing; must be /],
  [{ type: 'jwt', iss: null, sub: 'u' }, '.iss', /^must be .*, got null$/],
  [{ type: 'ip', address: '2001:db8::/64' }, '.address', /^must be .*, got "2001:db8::\/64"$/],
  [{ type: 'ip', address: '010.0.0.1' }, '.address', /^must be .*, got "010.0.0.1"$/],
  [{ type: 'jwt', sub: 'u', issuer: 'a' }, '', /^unknown key "issuer"; known keys: type, iss, sub$/],
  [
    { type: 'api_key', Name: 'b', name: 'a' },
    '',
    /^unknown key "Name" \(did you mean "name"\?\); known keys: type, name$/,
  ],
]

for (const [caller, path, shown] of callers) {
  t.test(`case 12: an override for ${JSON.stringify(caller)}`, async (t) => {
    const error = refusal(override(caller))
    t.equal(error.problems.length, 1)
    t.equal(error.path, `rateLimits.overrides[0].caller${path}`)
    t.match(error.problems[0]?.message, shown)
  })
}

for (const entry of ['10.0.0.0/33', '10.0.0/8', '010.0.0.0/8', '', '10.0.0.0/ 24', 'localhost']) {
  t.test(`case 11: trusted proxy "${entry}"`, async (t) => {
    for (const [key, path] of [
      ['trustedProxies', 'rateLimits'],
      ['trusted_proxies', 'rate_limits'],
    ] as const) {
      const error = refusal({ [key]: ['unix', entry, '10.0.0.0/8'] }, path)
      t.equal(error.problems.length, 1)
      t.equal(error.path, `${path}.${key}[1]`)
      t.ok(error.message.includes(`"${entry}"`))
      t.notMatch(error.problems[0]?.message, /^trustedProxies/)
    }
  })
}

t.test('two bad trusted proxies are both named', async (t) => {
  const { problems } = refusal({ trustedProxies: ['10.0.0.0/33', '10.0.0.0/8', 'x'] })
  t.strictSame(
    problems.map(({ path }) => path),
    ['rateLimits.trustedProxies[0]', 'rateLimits.trustedProxies[2]'],
  )
})

t.test('errors of a TOML file are in its spelling, missing keys too', async (t) => {
  const file = parseToml(`
    [rate_limits]
    max_memory_mib = 0
    [[rate_limits.categories.publish.default]]
    count = inf
    [[rate_limits.categories.publish.default]]
    count = 5
    window_seconds = 2026-11-30
  `)
  t.strictSame(refusal(file.rate_limits, 'rate_limits').message.split('\n'), [
    `rate_limits.max_memory_mib: ${MEMORY}, got 0`,
    `rate_limits.categories.publish.default[0].count: ${COUNT}, got Infinity`,
    `rate_limits.categories.publish.default[0].window_seconds: is missing; ${WINDOW}`,
    `rate_limits.categories.publish.default[1].window_seconds: ${WINDOW}, got TomlDate 2026-11-30T00:00:00.000Z`,
  ])
})

// last, because rows share parts
t.test('none of these inputs is written to', async (t) => {
  for (const [name, input, ...lines] of rows) t.equal(refusal(deepFreeze(input)).message, lines.join('\n'), name)
  for (const [caller] of callers) t.doesNotThrow(() => refusal(override(deepFreeze(caller))))
})

function refusal(input: unknown, path?: string): AllowanceOptionsError {
  try {
    parseRateLimits(input, path)
  } catch (error) {
    if (error instanceof AllowanceOptionsError) return error
    throw error
  }
  throw new Error('was accepted')
}
