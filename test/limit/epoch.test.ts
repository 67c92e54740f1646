import t from 'tap'
import { createLimiter } from '../../src/index.ts'
import type { EpochLimit } from '../../src/limit/limit.ts'
import { apiKey } from '../support/limiter-of.ts'
import { Key } from './kind-contract.ts'

/** A limit of `count` per epoch with a source that can be set. */
function keyOf(count: number, nextEpochInMs?: EpochLimit['nextEpochInMs']) {
  const source: { epoch: () => number } = { epoch: () => 0 }
  const key = new Key({ kind: 'epoch', count, epoch: () => source.epoch(), nextEpochInMs }, { nowNs: 0n })
  return { key, source }
}

t.test(
  'the count is admitted in each epoch, however long it lasts, the first and the last number included',
  async (t) => {
    const { key, source } = keyOf(2)
    for (const number of [0, 1, 7, Number.MAX_SAFE_INTEGER - 1, Number.MAX_SAFE_INTEGER]) {
      source.epoch = () => number
      t.equal(key.remainingUnits(), 2, `epoch ${number}`)
      t.equal(key.spend(2), true)
      key.world.nowNs += 10n ** 17n
      t.equal(key.spend(1), false)
      t.equal(key.remainingUnits(), 0)
    }
  },
)

t.test('a number that goes back is treated as standing still', async (t) => {
  const { key, source } = keyOf(2)
  source.epoch = () => 5
  t.equal(key.spend(1), true)
  source.epoch = () => 4
  t.equal(key.remainingUnits(), 1)
  t.equal(key.spend(1), true)
  t.equal(key.spend(1), false)
  source.epoch = () => 5
  t.equal(key.spend(1), false)
  source.epoch = () => 6
  t.equal(key.spend(2), true)
})

t.test('the delay is what the source says, rounded up and never zero, and null where it cannot say', async (t) => {
  for (const [says, delayMs] of [
    [0, 1],
    [-5, 1],
    [0.2, 1],
    [1, 1],
    [1.2, 2],
    [90_000, 90_000],
    [null, null],
    [Number.NaN, null],
    [Number.POSITIVE_INFINITY, null],
    [1e300, null],
    [Number.MAX_VALUE, null],
    [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  ] as const) {
    const { key } = keyOf(1, () => says)
    t.equal(key.fullInMs(), 0)
    key.spend(1)
    t.equal(key.retryDelayMs(1), delayMs, `${says}`)
    t.equal(key.fullInMs(), delayMs, `${says}`)
    t.equal(key.retryDelayMs(2), null, 'more than an epoch admits')
    t.equal(key.retryDelayMs(1, 1), null, 'reservations hold the room')
  }
  const { key } = keyOf(1)
  key.spend(1)
  t.equal(key.retryDelayMs(1), null)
  t.equal(key.fullInMs(), null)
})

t.test('anything that is no epoch number is refused by name', async (t) => {
  const { key, source } = keyOf(2)
  for (const [value, shown] of [
    [1.5, 'returned 1.5'],
    [-1, 'returned -1'],
    [Number.NaN, 'returned NaN'],
    [Number.POSITIVE_INFINITY, 'returned Infinity'],
    [2 ** 53, 'returned 9007199254740992'],
    [null, 'returned null'],
    [undefined, 'returned a value of type undefined'],
    ['7', 'returned a value of type string'],
    [7n, 'returned a value of type bigint'],
    [Promise.resolve(7), 'returned a value of type object'],
  ] as const) {
    source.epoch = () => value as number
    const expected = new RangeError(
      `epoch: the source must return a whole number from 0 to 9007199254740991, and ${shown}`,
    )
    t.throws(() => key.fits(1), expected)
    t.throws(() => key.remainingUnits(), expected)
    t.throws(() => key.fullInMs(), expected)
  }
})

t.test('a source that fails between the decision and the record counts as standing still', async (t) => {
  for (const broken of [
    () => Number.NaN,
    () => {
      throw new Error('out of reach')
    },
  ]) {
    for (const number of [0, 5]) {
      const { key, source } = keyOf(3)
      source.epoch = () => number
      key.spend(1)
      source.epoch = broken
      t.doesNotThrow(() => key.record(1))
      t.throws(() => key.fits(1))
      source.epoch = () => number
      t.equal(key.remainingUnits(), 1)
    }
  }
})

t.test('RATE-001: an epoch that resolves somebody else changes nothing for who spends', async (t) => {
  const other = apiKey('other')
  const epoch = () => {
    limiter.resolve(other)
    return 1
  }
  const limiter = createLimiter({
    rateLimits: { categories: { request: { default: [{ kind: 'epoch', count: 2, epoch }] } } },
  })
  t.same(
    [1, 2, 3].map(() => limiter.spend(apiKey('caller'), 'request', 1).admitted),
    [true, true, false],
  )
  t.equal(limiter.remaining(other, 'request')[0]?.units, 2)
})

t.test('an epoch that uses the limiter it is asked by is an error that says so, and charges nobody', async (t) => {
  const [caller, other] = [apiKey('caller'), apiKey('other')]
  let ask = (): unknown => undefined
  const epoch = () => {
    ask()
    return 1
  }
  const another = createLimiter()
  const limiter = createLimiter({
    rateLimits: { categories: { request: { default: [{ count: 5, windowSeconds: 60 }] } } },
    // As many keys as there are: each that comes is looked for among those that are idle.
    bounds: [
      { name: 'all', per: 'everyone', limits: [{ count: 9, windowSeconds: 60 }] },
      {
        name: 'epoch',
        per: 'caller',
        maxKeys: 1,
        limits: [{ kind: 'epoch', count: 9, epoch, nextEpochInMs: () => epoch() }],
      },
    ],
  })
  const uses: Record<string, () => unknown> = {
    remaining: () => limiter.remaining(other, 'publish'),
    retryDelay: () => limiter.retryDelay(other, 'request', 1),
    spend: () => limiter.spend(other, 'request', 1),
    reserve: () => limiter.reserve(other, 'publish', 1),
  }
  const left = (who: typeof caller) => limiter.remaining(who, 'request').map(({ bound, units }) => `${bound} ${units}`)
  limiter.spend(caller, 'request', 1)
  for (const [name, use] of Object.entries(uses)) {
    ask = use
    for (const who of [caller, other]) {
      t.throws(() => limiter.spend(who, 'request', 1), /^epoch and nextEpochInMs must not use the limiter/, name)
      t.throws(() => limiter.reserve(who, 'request', 1), /must not use the limiter/, name)
      t.throws(() => limiter.retryDelay(who, 'request', 1), /must not use the limiter/, name)
    }
    ask = () => undefined
    t.same(left(caller), ['caller 4', 'all 8', 'epoch 8'], `${name}: nothing is charged`)
  }
  ask = () => another.spend(other, 'request', 1)
  t.equal(limiter.spend(caller, 'request', 1).admitted, true, 'another limiter may be asked')
  t.equal(another.remaining(other, 'request')[0]!.units < 6000, true)
  t.same(left(caller), ['caller 3', 'all 7', 'epoch 7'])
})

t.test('so is a nextEpochInMs that does, where it is asked', async (t) => {
  const limiter = createLimiter({
    rateLimits: {
      categories: {
        request: {
          default: [
            { kind: 'epoch', count: 1, epoch: () => 1, nextEpochInMs: () => limiter.remaining(who, 'publish').length },
          ],
        },
      },
    },
  })
  const who = apiKey('a')
  t.equal(limiter.spend(who, 'request', 1).admitted, true)
  for (const use of ['spend', 'retryDelay', 'reserve'] as const) {
    t.throws(() => limiter[use](who, 'request', 1), /must not use the limiter/, use)
  }
  t.throws(() => limiter.remaining(who, 'request'), /must not use the limiter/)
  t.equal(limiter.remaining(who, 'publish')[0]!.units > 0, true, 'and is no more than that')
})

t.test('a spend for which an epoch begins while it is weighed is decided by the one that has begun', async (t) => {
  let numbers = [1]
  const epoch = () => (numbers.length > 1 ? numbers.shift()! : numbers[0]!)
  const limits = [{ kind: 'epoch', count: 2, epoch } as const]
  for (const bounds of [[], [{ name: 'all', per: 'everyone' as const, limits: [{ count: 99, windowSeconds: 60 }] }]]) {
    numbers = [1]
    const limiter = createLimiter({ rateLimits: { categories: { request: { default: limits } } }, bounds })
    const who = apiKey('a')
    t.equal(limiter.spend(who, 'request', 2).admitted, true)
    t.equal(limiter.spend(who, 'request', 1).admitted, false)
    numbers = [1, 2]
    t.equal(limiter.spend(who, 'request', 1).admitted, true)
    t.equal(limiter.remaining(who, 'request')[0]!.units, 1)
    limiter.spend(who, 'request', 1)
    numbers = Array.from({ length: 100 }, (_, i) => 2 + (i % 2))
    t.throws(() => limiter.reserve(who, 'request', 1), /^epoch: the source returns another number each time/)
    numbers = [2, 3]
    t.equal(limiter.retryDelay(who, 'request', 1), 0)
    t.equal(limiter.reserve(who, 'request', 1).admitted, true)
  }
})
