import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { second } from '../support/limiter-of.ts'
import { Key } from './kind-contract.ts'
import { admittedSince, type Spend } from './true-count.ts'

const count = 1000
const windowSeconds = 60
const windowNs = BigInt(windowSeconds) * second
const onePercent = count / 100

/** Plays one spend of 1 after another at an even pace, `perWindow` in a window, and calls `each` after each. */
function playEvenly(perWindow: number, windows: number, each: (key: Key, admitted: readonly Spend[]) => void): void {
  const world = { nowNs: 17n * second }
  const key = new Key({ kind: 'sliding_window', count, windowSeconds }, world)
  const admitted: Spend[] = []
  for (let i = 0; i < perWindow * windows; i++) {
    world.nowNs = 17n * second + (BigInt(i) * windowNs) / BigInt(perWindow)
    if (key.spend(1)) admitted.push({ ns: world.nowNs, units: 1 })
    each(key, admitted)
  }
}

t.test('the estimate is within 1 % of the true count on even traffic', async (t) => {
  for (const perWindow of [10, 499, 990]) {
    let worst = 0
    playEvenly(perWindow, 5, (key, admitted) => {
      // The traffic starts in the middle of the first window, which is the previous one until the third.
      if (key.world.nowNs < 2n * windowNs) return
      const estimate = count - key.remainingUnits()
      worst = Math.max(worst, Math.abs(estimate - admittedSince(admitted, key.world.nowNs - windowNs)))
    })
    t.ok(worst <= onePercent, `${perWindow} a window: off by ${worst}`)
  }
})

t.test('even traffic at the very rate of the limit is admitted, within 1 %', async (t) => {
  playEvenly(count, 5, (key, admitted) => {
    const asked = Number((key.world.nowNs - 17n * second) / (windowNs / BigInt(count))) + 1
    if (asked - admitted.length > asked / 100) t.fail(`${admitted.length} of ${asked} were admitted`)
  })
})

t.test('even traffic of three times the limit is admitted at the rate of the limit, within 1 %', async (t) => {
  let worst = 0
  playEvenly(3 * count, 6, (key, admitted) => {
    // The first window starts with a burst; what follows is even from the third on.
    if (key.world.nowNs < 3n * windowNs) return
    worst = Math.max(worst, Math.abs(count - admittedSince(admitted, key.world.nowNs - windowNs)))
  })
  t.ok(worst <= onePercent, `off by ${worst}`)
})

t.test('never above twice the count in any window, whatever the traffic', async () => {
  const stepArb = fc.record({
    byNs: fc.oneof(fc.bigInt({ min: 0n, max: second }), fc.bigInt({ min: 0n, max: windowNs })),
    share: fc.constantFrom(1, 0.5, 0.01),
  })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 50 }), fc.array(stepArb, { maxLength: 60 }), (count, script) => {
      const world = { nowNs: 0n }
      const key = new Key({ kind: 'sliding_window', count, windowSeconds }, world)
      const admitted: Spend[] = []
      for (const { byNs, share } of script) {
        world.nowNs += byNs
        const units = Math.max(1, Math.floor(key.remainingUnits() * share))
        if (key.spend(units)) admitted.push({ ns: world.nowNs, units })
        assert.ok(admittedSince(admitted, world.nowNs - windowNs) <= 2 * count)
      }
    }),
    { numRuns: 300 },
  )
})

t.test('a burst at the end of a window and one spread over the next stay below twice the count', async (t) => {
  const world = { nowNs: windowNs - 1n }
  const key = new Key({ kind: 'sliding_window', count: 100, windowSeconds }, world)
  t.equal(key.spend(100), true)
  let admitted = 0
  for (; world.nowNs < 2n * windowNs - 1n; world.nowNs += second / 10n) if (key.spend(1)) admitted += 1
  t.equal(admitted, 99)
})

t.test('a window counts in full at the start of the next, by half in the middle, and no more at its end', async (t) => {
  const world = { nowNs: 0n }
  const key = new Key({ kind: 'sliding_window', count: 10, windowSeconds }, world)
  key.spend(8)
  for (const [ns, remaining] of [
    [windowNs - 1n, 2],
    [windowNs, 2],
    [windowNs + windowNs / 4n - 1n, 3],
    [windowNs + windowNs / 4n, 4],
    [windowNs + windowNs / 2n, 6],
    [2n * windowNs - 1n, 9],
    [2n * windowNs, 10],
  ] as const) {
    world.nowNs = ns
    t.equal(key.remainingUnits(), remaining, `at ${ns} ns`)
  }
})

t.test('what is left of a window is worked out without rounding, to the nanosecond', async () => {
  // A count whose products with nanoseconds come within k of a whole number of units, where a double would round across.
  const count = 999_999_937
  const inverse = 873_015_873n
  assert.equal((BigInt(count) * inverse) % second, 1n)
  for (let k = -64n; k <= 64n; k++) {
    const nanos = (((k * inverse) % second) + second) % second
    const world = { nowNs: 0n }
    const key = new Key({ kind: 'sliding_window', count, windowSeconds: 1 }, world)
    key.spend(count)
    world.nowNs = second + nanos
    const remaining = Number((BigInt(count) * nanos) / second)
    assert.equal(key.remainingUnits(), remaining, `${nanos} ns`)
    if (remaining > 0) assert.ok(key.fits(remaining))
    assert.ok(!key.fits(remaining + 1))
  }
})

t.test('the delay may lie in this window, at its end, in the next, and at the end of that', async (t) => {
  const world = { nowNs: 0n }
  const key = new Key({ kind: 'sliding_window', count: 10, windowSeconds }, world)
  key.spend(8)
  t.equal(key.retryDelayMs(3), 60_000 + 7500)
  t.equal(key.retryDelayMs(10), 120_000)
  world.nowNs = windowNs
  t.equal(key.retryDelayMs(3), 7500)
  t.equal(key.retryDelayMs(10), 60_000)
  key.spend(2)
  t.equal(key.retryDelayMs(8), 60_000)
  t.equal(key.retryDelayMs(9), 60_000 + 30_000)
  t.equal(key.retryDelayMs(11), null)
  t.equal(key.retryDelayMs(9, 2), null, 'reservations hold the room')
})
