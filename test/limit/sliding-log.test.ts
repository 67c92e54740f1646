import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { second } from '../support/limiter-of.ts'
import { Key } from './kind-contract.ts'
import { admittedSince, type Spend } from './true-count.ts'

const minute = 60n * second
const windowSeconds = 60

t.test('never more than the count in any window, and nothing is refused that would stay within it', async () => {
  const stepArb = fc.record({
    byNs: fc.oneof(fc.constant(0n), fc.bigInt({ min: 0n, max: 2n * second }), fc.bigInt({ min: 0n, max: 2n * minute })),
    units: fc.integer({ min: 1, max: 20 }),
  })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20 }), fc.array(stepArb, { maxLength: 120 }), (count, script) => {
      const world = { nowNs: 0n }
      const key = new Key({ kind: 'sliding_log', count, windowSeconds }, world)
      const admitted: Spend[] = []
      for (const { byNs, units } of script) {
        world.nowNs += byNs
        const counted = admittedSince(admitted, world.nowNs - minute)
        const fits = key.spend(units)
        assert.equal(fits, counted + units <= count)
        if (fits) admitted.push({ ns: world.nowNs, units })
        assert.ok(admittedSince(admitted, world.nowNs - minute) <= count)
      }
    }),
    { numRuns: 300 },
  )
})

t.test('what it remembers is in proportion to the count', async (t) => {
  const sizeOf = (count: number) => new Key({ kind: 'sliding_log', count, windowSeconds }, { nowNs: 0n }).state.length
  const ratio = sizeOf(100_000) / sizeOf(1000)
  t.ok(ratio > 99 && ratio < 101, `${ratio}`)
})

t.test('a spend waits for as many of the oldest as it needs', async (t) => {
  const world = { nowNs: 0n }
  const key = new Key({ kind: 'sliding_log', count: 10, windowSeconds }, world)
  for (const [atSecond, units] of [
    [0n, 4],
    [10n, 1],
    [10n, 2],
    [25n, 3],
  ] as const) {
    world.nowNs = atSecond * second
    t.equal(key.spend(units), true)
  }
  for (const [units, delayMs] of [
    [1, 35_000],
    [4, 35_000],
    [5, 45_000],
    [7, 45_000],
    [8, 60_000],
    [10, 60_000],
    [11, null],
  ] as const)
    t.equal(key.retryDelayMs(units), delayMs, `${units} units`)
  t.equal(key.retryDelayMs(6, 2), 60_000)
  t.equal(key.retryDelayMs(9, 2), null, 'reservations hold the room')
  t.equal(key.fullInMs(), 60_000)
})

t.test('where more is recorded than fits, the newest are kept and nothing breaks', async (t) => {
  const world = { nowNs: 0n }
  const key = new Key({ kind: 'sliding_log', count: 3, windowSeconds }, world)
  for (let i = 0; i < 10; i++) {
    world.nowNs += second
    key.record(1)
    t.equal(key.remainingUnits(), Math.max(0, 2 - i))
  }
  t.equal(key.retryDelayMs(1), 58_000)
  t.equal(key.fullInMs(), 60_000)
  world.nowNs += minute
  t.equal(key.remainingUnits(), 3)
})

t.test('units recorded may add up to any number over time', async (t) => {
  const world = { nowNs: 0n }
  const key = new Key({ kind: 'sliding_log', count: 2, windowSeconds }, world)
  // More than any double holds exactly, and just below where the sum starts again.
  for (const units of [2 ** 52, 2 ** 52, 2 ** 52, 2 ** 40 - 3]) key.record(units)
  for (let i = 0; i < 10; i++) {
    world.nowNs += minute
    t.equal(key.spend(1), true)
    world.nowNs += second
    t.equal(key.remainingUnits(), 1)
    t.equal(key.spend(1), true)
    t.equal(key.spend(1), false)
    t.equal(key.retryDelayMs(2), 60_000)
  }
})
