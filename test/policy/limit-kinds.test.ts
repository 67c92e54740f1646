import { parse as parseToml } from 'smol-toml'
import t from 'tap'
import type { Limit } from '../../src/limit/limit.ts'
import type { LimitOptions } from '../../src/policy/options.ts'
import { parseRateLimits } from '../../src/policy/rate-limits.ts'
import { deepFreeze } from './deep-freeze.ts'
import { linesOf } from './refused.ts'

const epoch = () => 7
const nextEpochInMs = () => null

const parsed = (limits: readonly LimitOptions[]) =>
  parseRateLimits({ categories: { publish: { default: limits } } }).categories.get('publish')!.default!

t.test('each kind comes out as it is written, with its window in seconds, frozen', async (t) => {
  const rows: readonly [LimitOptions, Limit][] = [
    [
      { count: 5, windowSeconds: 60 },
      { count: 5, windowSeconds: 60 },
    ],
    [
      { kind: 'earned_back', count: 5, windowSeconds: 60 },
      { count: 5, windowSeconds: 60 },
    ],
    [
      { count: 5, window: 60 },
      { count: 5, windowSeconds: 60 },
    ],
    [
      { count: 5, window: 'PT1M' },
      { count: 5, windowSeconds: 60 },
    ],
    [
      { count: 5, window: '1h 20min' },
      { count: 5, windowSeconds: 4800 },
    ],
    [
      { count: 5, window: '100d' },
      { count: 5, windowSeconds: 8_640_000 },
    ],
    [
      { kind: 'sliding_window', count: 5, window: '15min' },
      { kind: 'sliding_window', count: 5, windowSeconds: 900 },
    ],
    [
      { kind: 'sliding_log', count: 5, windowSeconds: 60 },
      { kind: 'sliding_log', count: 5, windowSeconds: 60 },
    ],
    [
      { kind: 'epoch', count: 5, epoch },
      { kind: 'epoch', count: 5, epoch },
    ],
    [
      { kind: 'epoch', count: 5, epoch, nextEpochInMs },
      { kind: 'epoch', count: 5, epoch, nextEpochInMs },
    ],
    [{ kind: 'blocked' }, { kind: 'blocked' }],
  ]
  for (const [written, expected] of rows) {
    const [limit] = parsed(deepFreeze([written]))
    t.strictSame(limit, expected)
    t.strictSame(Object.keys(limit!), Object.keys(expected), 'no other keys')
    t.ok(Object.isFrozen(limit))
    t.strictSame(parsed([limit!]), [expected], 'what came out may be written again')
  }
})

t.test('keys that are undefined are as if they were not there', async (t) => {
  const written = { kind: undefined, count: 5, window: undefined, windowSeconds: 60, epoch: undefined }
  t.strictSame(parsed([written as LimitOptions]), [{ count: 5, windowSeconds: 60 }])
})

t.test('only windows must differ: limits without one may stand together', async (t) => {
  const limits = parsed([{ kind: 'epoch', count: 1, epoch }, { kind: 'epoch', count: 2, epoch }, { kind: 'blocked' }])
  t.equal(limits.length, 3)
})

t.test('in the spelling of a config file, in overrides too', async (t) => {
  const file = parseToml(`
    [rate_limits.categories.publish]
    default = [{ kind = "sliding_window", count = 5, window = "PT1M" }, { count = 9, window_seconds = 3600 }]
    [[rate_limits.overrides]]
    caller = { type = "api_key", name = "indexer" }
    categories = { publish = [{ kind = "blocked" }] }
  `)
  const { categories, overrides } = parseRateLimits(file.rate_limits, 'rate_limits')
  t.strictSame(categories.get('publish')?.default, [
    { kind: 'sliding_window', count: 5, windowSeconds: 60 },
    { count: 9, windowSeconds: 3600 },
  ])
  t.strictSame(overrides[0]?.categories.get('publish'), [{ kind: 'blocked' }])
  const limit = { kind: 'epoch', count: 1, epoch, next_epoch_in_ms: nextEpochInMs }
  t.strictSame(parseRateLimits({ categories: { publish: { jwt: [limit] } } }).categories.get('publish')?.jwt, [
    { kind: 'epoch', count: 1, epoch, nextEpochInMs },
  ])
})

const P = 'rateLimits.categories.publish.default'
const COUNT = 'must be a whole number from 1 to 1000000000'
const WINDOW =
  'must be a duration from 1 to 8640000 whole seconds, such as 60, "PT1M" or, in whole numbers and small letters, "1h 20min"'
const KIND = 'must be "earned_back", "sliding_window", "sliding_log", "epoch" or "blocked"'
const KEYS = 'kind, count, window, windowSeconds'
const TWICE = 'is the same as the window in seconds, write only one'

// one row for each way to get it wrong
const rows: readonly [name: string, limits: readonly unknown[], ...lines: string[]][] = [
  ['an unknown kind', [{ kind: 'fixed', count: 1 }], `${P}[0].kind: ${KIND}, got "fixed"`],
  [
    'a kind misspelt',
    [{ kind: 'sliding-log', count: 1, window: 1 }],
    `${P}[0].kind: ${KIND}, got "sliding-log" (did you mean "sliding_log"?)`,
  ],
  ['a kind that is null', [{ kind: null, count: 1, window: 1 }], `${P}[0].kind: ${KIND}, got null`],
  ['a kind that is inherited by all', [{ kind: 'constructor' }], `${P}[0].kind: ${KIND}, got "constructor"`],
  [
    'case 3: a month',
    [{ count: 1, window: 'P1M' }],
    `${P}[0].window: ${WINDOW}, got "P1M"; months and years have no fixed length`,
  ],
  ['case 3: no unit', [{ count: 1, window: '5x' }], `${P}[0].window: ${WINDOW}, got "5x"`],
  ['case 3: nothing', [{ count: 1, window: '' }], `${P}[0].window: ${WINDOW}, got ""`],
  ['case 3: no time', [{ count: 1, window: 'PT0S' }], `${P}[0].window: ${WINDOW}, got "PT0S"`],
  ['a window over 100 days', [{ count: 1, window: 'P101D' }], `${P}[0].window: ${WINDOW}, got "P101D"`],
  ['a window that is null', [{ count: 1, window: null }], `${P}[0].window: ${WINDOW}, got null`],
  ['a window twice', [{ count: 1, window: 60, windowSeconds: 60 }], `${P}[0].window: ${TWICE}`],
  ['a window twice, snake_case', [{ count: 1, window: 60, window_seconds: 60 }], `${P}[0].window: ${TWICE}`],
  [
    'a sliding window without a window',
    [{ kind: 'sliding_window', count: 1 }],
    `${P}[0].windowSeconds: is missing; must be a whole number from 1 to 8640000`,
  ],
  ['a sliding log without a count', [{ kind: 'sliding_log', window: 60 }], `${P}[0].count: is missing; ${COUNT}`],
  [
    'an epoch without what it is',
    [{ kind: 'epoch' }],
    `${P}[0].count: is missing; ${COUNT}`,
    `${P}[0].epoch: is missing; must be a function that returns the number of the epoch`,
  ],
  [
    'an epoch that is a number',
    [{ kind: 'epoch', count: 1, epoch: 4, nextEpochInMs: 1000 }],
    `${P}[0].epoch: must be a function that returns the number of the epoch, got 4`,
    `${P}[0].nextEpochInMs: must be a function that returns milliseconds or null, got 1000`,
  ],
  [
    'an epoch with a window',
    [{ kind: 'epoch', count: 1, epoch, window: 60 }],
    `${P}[0].window: cannot stand beside kind "epoch", which has the keys kind, count, epoch, nextEpochInMs`,
  ],
  [
    'a window with an epoch, snake_case',
    [{ kind: 'sliding_log', count: 1, window: 60, next_epoch_in_ms: nextEpochInMs }],
    `${P}[0].next_epoch_in_ms: cannot stand beside kind "sliding_log", which has the keys ${KEYS}`,
  ],
  [
    'an epoch without its kind',
    [{ count: 1, windowSeconds: 60, epoch }],
    `${P}[0].epoch: needs kind "epoch"; without a kind a limit is "earned_back"`,
  ],
  [
    'blocked with a count and a window',
    [{ kind: 'blocked', count: 1, windowSeconds: 60 }],
    `${P}[0].count: cannot stand beside kind "blocked", which has the keys kind`,
    `${P}[0].windowSeconds: cannot stand beside kind "blocked", which has the keys kind`,
  ],
  [
    'one window in two limits of different kinds',
    [{ count: 1, windowSeconds: 60 }, { kind: 'blocked' }, { kind: 'sliding_log', count: 1, window: 'PT1M' }],
    `${P}[2].window: must differ from the window of [0] in the same list, got 60 in both`,
  ],
  [
    'four limits of which two are blocked',
    [{ kind: 'blocked' }, { kind: 'blocked' }, { count: 1, window: 1 }, { count: 1, window: 2 }],
    `${P}: must be a list of up to 3 limits, got 4`,
  ],
]

for (const [name, limits, ...lines] of rows) {
  t.test(`refused: ${name}`, async (t) => {
    const input = deepFreeze({ categories: { publish: { default: limits } } })
    t.strictSame(
      linesOf(() => parseRateLimits(input)),
      lines,
    )
  })
}

t.test('part of the memory is kept for bounds that are made later, none by default', async (t) => {
  t.equal(parseRateLimits({}).boundsMemoryMib, 0)
  t.equal(parseRateLimits({ boundsMemoryMib: 64 }).boundsMemoryMib, 64)
  t.equal(parseRateLimits({ max_memory_mib: 2, bounds_memory_mib: 2 }).boundsMemoryMib, 2)
  const range = 'must be a whole number from 0 to 4096'
  const part = (most: number) => `must be at most maxMemoryMib (${most}), of which it is a part`
  const refused: readonly [input: unknown, line: string][] = [
    [{ boundsMemoryMib: -1 }, `boundsMemoryMib: ${range}, got -1`],
    [{ boundsMemoryMib: 0.5 }, `boundsMemoryMib: ${range}, got 0.5`],
    [{ bounds_memory_mib: '8' }, `bounds_memory_mib: ${range}, got "8"`],
    [{ boundsMemoryMib: 65 }, `boundsMemoryMib: ${part(64)}, got 65`],
    [{ max_memory_mib: 4, bounds_memory_mib: 5 }, `bounds_memory_mib: ${part(4)}, got 5`],
    [{ maxMemoryMib: 0, boundsMemoryMib: 0 }, 'maxMemoryMib: must be a whole number from 1 to 4096, got 0'],
  ]
  for (const [input, line] of refused) {
    t.strictSame(
      linesOf(() => parseRateLimits(input)),
      [`rateLimits.${line}`],
    )
  }
})
