import { parse as parseToml } from 'smol-toml'
import t from 'tap'
import { normalizeCaller } from '../../src/caller/caller.ts'
import type { RateLimitsOptions } from '../../src/policy/options.ts'
import { parseRateLimits } from '../../src/policy/rate-limits.ts'
import { deepFreeze, objectsIn } from './deep-freeze.ts'

const written: RateLimitsOptions = {
  enabled: true,
  trustedProxies: ['10.0.0.0/8', 'unix'],
  maxMemoryMib: 32,
  categories: {
    publish: {
      default: [
        { count: 1000, windowSeconds: 60 },
        { count: 20000, windowSeconds: 3600 },
      ],
      api_key: [],
    },
    thumbnail: { default: [{ count: 5, windowSeconds: 1 }], jwt: [{ count: 9, windowSeconds: 1 }] },
  },
  overrides: [
    {
      caller: { type: 'api_key', name: 'indexer' },
      categories: { publish: [{ count: 50000, windowSeconds: 60 }], thumbnail: [] },
    },
    { caller: { type: 'ip', address: '2001:DB8::5' }, categories: { push: [] } },
  ],
}

t.test('nothing given: every default', async (t) => {
  const defaults = {
    enabled: true,
    trustedProxies: [],
    maxMemoryMib: 64,
    boundsMemoryMib: 0,
    categories: new Map(),
    overrides: [],
  }
  t.strictSame(parseRateLimits(undefined), defaults)
  t.strictSame(parseRateLimits({}), defaults)
  t.strictSame(parseRateLimits(Object.create(null)), defaults)
  const allUndefined = {
    enabled: undefined,
    trustedProxies: undefined,
    maxMemoryMib: undefined,
    boundsMemoryMib: undefined,
    categories: undefined,
    overrides: undefined,
  }
  t.strictSame(parseRateLimits(allUndefined), defaults)
  t.strictSame(
    parseRateLimits({ categories: { publish: { default: undefined } } }).categories.get('publish')?.default,
    undefined,
  )
})

t.test('camelCase', async (t) => {
  const { overrides, ...rest } = parseRateLimits(written)
  t.strictSame(rest, {
    enabled: true,
    trustedProxies: ['10.0.0.0/8', 'unix'],
    maxMemoryMib: 32,
    boundsMemoryMib: 0,
    categories: new Map(Object.entries(written.categories!)),
  })
  t.strictSame(overrides, [
    {
      caller: { type: 'api_key', name: 'indexer' },
      categories: new Map([
        ['publish', [{ count: 50000, windowSeconds: 60 }]],
        ['thumbnail', []],
      ]),
    },
    {
      caller: normalizeCaller({ type: 'ip', address: '2001:db8::' }),
      categories: new Map([['push', []]]),
    },
  ])
})

t.test("a TOML file in the spec's spelling", async (t) => {
  const file = parseToml(`
    [rate_limits]
    trusted_proxies = ["10.0.0.0/8", "unix"]
    max_memory_mib = 64
    [rate_limits.categories.publish]
    default = [{ count = 1000, window_seconds = 60 }, { count = 20000, window_seconds = 3600 }]
    api_key = []
    [[rate_limits.overrides]]
    caller = { type = "api_key", name = "indexer" }
    categories = { publish = [{ count = 50000, window_seconds = 60 }] }
  `)
  const expected: RateLimitsOptions = {
    trustedProxies: ['10.0.0.0/8', 'unix'],
    maxMemoryMib: 64,
    categories: {
      publish: {
        default: [
          { count: 1000, windowSeconds: 60 },
          { count: 20000, windowSeconds: 3600 },
        ],
        api_key: [],
      },
    },
    overrides: [
      {
        caller: { type: 'api_key', name: 'indexer' },
        categories: { publish: [{ count: 50000, windowSeconds: 60 }] },
      },
    ],
  }
  t.strictSame(parseRateLimits(file.rate_limits, 'rate_limits'), parseRateLimits(expected))
})

t.test('the ends of each range are allowed', async (t) => {
  for (const maxMemoryMib of [1, 4096]) t.equal(parseRateLimits({ maxMemoryMib }).maxMemoryMib, maxMemoryMib)
  for (const limit of [
    { count: 1, windowSeconds: 1 },
    { count: 1_000_000_000, windowSeconds: 8_640_000 },
  ]) {
    t.strictSame(parseRateLimits({ categories: { push: { ip: [limit] } } }).categories.get('push')?.ip, [limit])
  }
})

t.test('category names come out as they are, whatever they mean elsewhere', async (t) => {
  const names = [
    '__proto__',
    'constructor',
    'valueof',
    'window_seconds',
    'max_memory_mib',
    'a',
    '0',
    'a.b-c_d',
    'x'.repeat(64),
  ]
  const categories = Object.fromEntries(
    names.map((name, i) => [name, { default: [{ count: i + 1, windowSeconds: 1 }] }]),
  )
  const limits = Object.fromEntries(names.map((name) => [name, []]))
  t.ok(Object.hasOwn(categories, '__proto__'))
  const parsed = parseRateLimits({
    categories,
    overrides: [{ caller: { type: 'api_key', name: '__proto__' }, categories: limits }],
  })
  t.strictSame([...parsed.categories.keys()].sort(), [...names].sort())
  for (const [i, name] of names.entries()) {
    t.strictSame(parsed.categories.get(name)?.default, [{ count: i + 1, windowSeconds: 1 }])
    t.strictSame(parsed.overrides[0]?.categories.get(name), [])
  }
  t.equal(({} as { default?: unknown }).default, undefined, 'Object.prototype is untouched')
})

t.test("the caller's object is only read", async (t) => {
  const copy = structuredClone(written)
  const parsed = parseRateLimits(written)
  t.strictSame(written, copy)
  t.notOk([...objectsIn(written)].some(Object.isFrozen), 'nothing of it is frozen')
  parseRateLimits(deepFreeze(copy))
  const mutable = structuredClone(written) as unknown as { categories: { publish: { default: { count: number }[] } } }
  const before = parseRateLimits(mutable)
  mutable.categories.publish.default[0]!.count = 1
  mutable.categories.publish.default.length = 1
  t.strictSame(before, parsed, 'a later change of it changes nothing')
})

t.test('what comes out is frozen', async (t) => {
  const parsed = parseRateLimits(written)
  const parts = [
    parsed,
    parsed.trustedProxies,
    parsed.overrides,
    ...[...parsed.categories.values()].flatMap((category) => [...objectsIn(category)]),
    ...parsed.overrides.flatMap((o) => [o, o.caller, ...[...o.categories.values()].flatMap((l) => [...objectsIn(l)])]),
  ]
  t.ok(parts.every(Object.isFrozen))
})
