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

t.test('RATE-001: an epoch that asks the limiter about somebody else changes nothing for who spends', async (t) => {
  const other = apiKey('other')
  let ask = (): unknown => undefined
  const epoch = () => {
    ask()
    return 1
  }
  const limiter = createLimiter({
    rateLimits: { categories: { request: { default: [{ kind: 'epoch', count: 2, epoch }] } } },
  })
  const questions: (() => unknown)[] = [
    () => limiter.resolve(other),
    () => limiter.remaining(other, 'publish'),
    () => limiter.spend(other, 'publish', 1),
  ]
  for (const [i, question] of questions.entries()) {
    ask = question
    const caller = apiKey(`caller ${i}`)
    t.same(
      [1, 2, 3].map(() => limiter.spend(caller, 'request', 1).admitted),
      [true, true, false],
    )
  }
  ask = () => undefined
  t.equal(limiter.remaining(other, 'request')[0]?.units, 2)
})
