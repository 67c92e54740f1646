import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { admits, EarnedBackModel, latestNs } from '../support/earned-back-model.ts'
import { apiKey, limiterOf, millisecond, second } from '../support/limiter-of.ts'
import { limitsArb, play, scriptArb, year } from '../support/script.ts'

const caller = apiKey('one caller')
const mostMs = 2 ** 34 * 1000

t.test(
  'the largest spend under the slowest limit is earned back 2^34 s − 1 ns after the start, not later and not sooner',
  async (t) => {
    for (const startNs of [0n, 1n, 50n * year]) {
      const { limiter, clock } = limiterOf('1/8640000', startNs)
      t.equal(limiter.spend(caller, 'work', Number.MAX_SAFE_INTEGER).admitted, true)
      t.equal(limiter.remaining(caller, 'work')[0]?.fullInMs, mostMs)
      for (const cost of [1, 2, Number.MAX_SAFE_INTEGER])
        t.equal(limiter.retryDelay(caller, 'work', cost), mostMs, `${cost}`)
      clock.advance(latestNs - 1n)
      t.match(limiter.spend(caller, 'work', 1), { admitted: false, denial: { retryDelayMs: 1 } })
      t.match(limiter.spend(caller, 'work', 2), { admitted: false, denial: { retryDelayMs: 1 } })
      clock.advance(1n)
      t.equal(limiter.retryDelay(caller, 'work', 2), 0)
      t.equal(limiter.spend(caller, 'work', 1).admitted, true)
    }
  },
)

t.test('a spend that ends a second before the bound is exact', async (t) => {
  for (const [cost, fullInMs] of [
    [2 ** 34 - 1, mostMs - 1000],
    [2 ** 34, mostMs],
    [2 ** 34 + 1, mostMs],
  ] as const) {
    const { limiter } = limiterOf('1/1')
    limiter.spend(caller, 'work', cost)
    t.equal(limiter.remaining(caller, 'work')[0]?.fullInMs, fullInMs, `${cost} s`)
  }
})

t.test(
  'any cost, count and window: the model with that bound, and nothing is admitted before it would be without',
  async () => {
    const plotArb = limitsArb(8_640_000).chain((limits) =>
      fc.record({
        limits: fc.constant(limits),
        startNs: fc.bigInt({ min: 0n, max: 50n * year }),
        uptimeNs: fc.bigInt({ min: 0n, max: 500n * year }),
        script: scriptArb(limits, Number.MAX_SAFE_INTEGER, 2),
      }),
    )
    fc.assert(
      fc.property(plotArb, ({ limits, startNs, uptimeNs, script }) => {
        const { limiter, clock } = limiterOf(limits, startNs)
        clock.advance(uptimeNs)
        const callers = [caller, apiKey('another')]
        play(
          { limiter, clock, model: new EarnedBackModel(startNs), limits, callers, category: 'work', startNs },
          script,
        )
      }),
      { numRuns: 250 },
    )
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 8_640_000 }),
        fc.maxSafeNat(),
        fc.bigInt({ min: 0n, max: latestNs }),
        (windowSeconds, cost, waitNs) => {
          const limit = { count: 1, windowSeconds }
          const { limiter, clock } = limiterOf([limit])
          limiter.spend(caller, 'work', cost)
          clock.advance(waitNs)
          const owedUntil = BigInt(cost) * BigInt(windowSeconds) * second
          const unbounded = admits(limit, owedUntil, waitNs, 1n)
          if (waitNs < latestNs - BigInt(windowSeconds) * second)
            assert.equal(limiter.retryDelay(caller, 'work', 1) === 0, unbounded)
        },
      ),
      { numRuns: 300 },
    )
  },
)

t.test('beyond the bound nothing throws and nobody is denied for ever', async (t) => {
  const { limiter, clock } = limiterOf('1/8640000, 3/60')
  limiter.spend(caller, 'work', Number.MAX_SAFE_INTEGER)
  for (const stepNs of [latestNs - 1n, 1n, millisecond, second, 1000n * year, 2n ** 64n, 2n ** 80n]) {
    clock.advance(stepNs)
    const wait = limiter.retryDelay(caller, 'work', 5)
    t.ok(
      wait !== null && Number.isSafeInteger(wait) && wait >= 0 && wait <= 8_640_000_000,
      `${clock.now()} ns: ${wait} ms`,
    )
    t.doesNotThrow(() => limiter.spend(caller, 'work', 5))
    t.doesNotThrow(() => limiter.remaining(caller, 'work'))
    t.doesNotThrow(() => limiter.spend(apiKey(`fresh at ${clock.now()}`), 'work', 1))
  }
})
