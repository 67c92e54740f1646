import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { createLimiter } from '../../src/index.ts'
import { EarnedBackModel } from '../support/earned-back-model.ts'
import { apiKey, limitsOf, second, withReadInto } from '../support/limiter-of.ts'

const caller = apiKey('one caller')

/** A limiter on a clock that shows whatever it is set to. */
const onLooseClock = (limits: string, nowNs: bigint, read: 'now' | 'readInto') => {
  const shown = { ns: nowNs }
  const loose = { now: () => shown.ns, wall: () => 0, schedule: () => () => {} }
  const clock = read === 'readInto' ? withReadInto(loose) : loose
  const rateLimits = { maxMemoryMib: 1, categories: { work: { default: limitsOf(limits) } } }
  return { shown, limiter: createLimiter({ rateLimits, clock }) }
}

for (const read of ['now', 'readInto'] as const) {
  t.test(`a clock that goes back stands still (${read})`, async (t) => {
    const { shown, limiter } = onLooseClock('1/60', 1000n * second, read)
    t.equal(limiter.spend(caller, 'work', 1).admitted, true)
    for (const at of [999n, 940n, 939n, 1n, 0n, -1n, -1_000_000n]) {
      shown.ns = at * second
      t.match(limiter.spend(caller, 'work', 1), { admitted: false, denial: { retryDelayMs: 60_000 } }, `at ${at} s`)
      t.match(limiter.remaining(caller, 'work'), [{ units: 0, fullInMs: 60_000 }])
      t.equal(limiter.spend(apiKey(`fresh at ${at} s`), 'work', 1).admitted, true, 'who owes nothing is admitted')
    }
    shown.ns = 1060n * second - 1n
    t.match(limiter.spend(caller, 'work', 1), { admitted: false, denial: { retryDelayMs: 1 } })
    shown.ns = 1060n * second
    t.equal(limiter.spend(caller, 'work', 1).admitted, true)
  })

  t.test(`a spend made while the clock is back is charged at the time it stood still (${read})`, async (t) => {
    const { shown, limiter } = onLooseClock('10/60', 1000n * second, read)
    limiter.spend(apiKey('another'), 'work', 1)
    shown.ns = 0n
    t.equal(limiter.spend(caller, 'work', 10).admitted, true)
    shown.ns = 1059n * second
    t.match(limiter.spend(caller, 'work', 10), { admitted: false, denial: { retryDelayMs: 1000 } })
  })

  t.test(
    `any jumps: decisions, delays and what remains are those of a clock that never goes back (${read})`,
    async () => {
      const start = 10_000n * second
      const limits = limitsOf('3/1, 7/60')
      const stepArb = fc.record({
        jumpNs: fc.oneof(
          fc.constant(0n),
          fc.bigInt({ min: -20n * second, max: 25n * second }),
          fc.bigInt({ min: -start, max: 1n }),
        ),
        ask: fc.constantFrom('spend', 'retryDelay', 'remaining'),
        cost: fc.integer({ min: 1, max: 9 }),
      })
      fc.assert(
        fc.property(fc.array(stepArb, { maxLength: 40 }), (steps) => {
          const { shown, limiter } = onLooseClock('3/1, 7/60', start, read)
          const model = new EarnedBackModel(start)
          let latest = start
          for (const { jumpNs, ask, cost } of steps) {
            shown.ns += jumpNs
            if (shown.ns > latest) latest = shown.ns
            if (ask === 'remaining')
              assert.deepEqual(limiter.remaining(caller, 'work'), model.remaining('one', limits, latest))
            else if (ask === 'retryDelay')
              assert.equal(limiter.retryDelay(caller, 'work', cost), model.retryDelay('one', limits, cost, latest))
            else {
              const wanted = model.spend('one', limits, cost, latest)
              const found = limiter.spend(caller, 'work', cost)
              assert.equal(found.admitted, wanted.admitted)
              if (!found.admitted && !wanted.admitted) assert.equal(found.denial.retryDelayMs, wanted.retryDelayMs)
            }
          }
        }),
        { numRuns: 300 },
      )
    },
  )
}
