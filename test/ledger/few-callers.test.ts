import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { createLimiter, manualClock } from '../../src/index.ts'
import { EarnedBackModel, type Limit } from '../support/earned-back-model.ts'
import { address, apiKey, jwt, limitsOf, second } from '../support/limiter-of.ts'
import { act } from '../support/script.ts'

const callers = Array.from({ length: 12 }, (_, i) => [
  apiKey(`${i}`),
  jwt('issuer', `${i}`),
  address(`203.0.113.${i}`),
  address(`2001:db8:0:${i}::1`),
]).flat()

const categories: Record<string, Limit[]> = {
  minutes: limitsOf('7/60'),
  hours: limitsOf('5/3600, 3/60'),
  three: limitsOf('2/1, 9/60, 100/8640000'),
}

t.test(
  'RATE-020 RATE-052: with room for everyone the table is a plain map, in every category of every caller',
  async () => {
    const stepArb = fc.record({
      advanceNs: fc.oneof(
        { weight: 5, arbitrary: fc.constant(0n) },
        { weight: 3, arbitrary: fc.bigInt({ min: 0n, max: 30n * second }) },
        { weight: 1, arbitrary: fc.bigInt({ min: 0n, max: 40_000n * second }) },
      ),
      caller: fc.nat({ max: callers.length - 1 }),
      category: fc.constantFrom(...Object.keys(categories)),
      cost: fc.integer({ min: 0, max: 12 }),
    })
    fc.assert(
      fc.property(fc.array(stepArb, { minLength: 100, maxLength: 400 }), (steps) => {
        const clock = manualClock(0n)
        const limiter = createLimiter({
          rateLimits: {
            maxMemoryMib: 1,
            categories: Object.fromEntries(
              Object.entries(categories).map(([name, limits]) => [name, { default: limits }]),
            ),
          },
          clock,
        })
        const model = new EarnedBackModel(0n)
        const stage = { limiter, clock, model, callers, startNs: 0n }
        for (const { advanceNs, caller, category, cost } of steps) {
          clock.advance(advanceNs)
          act({ ...stage, category, limits: categories[category]! }, caller, cost)
        }
        for (const [category, limits] of Object.entries(categories)) {
          for (const [i, caller] of callers.entries()) {
            assert.deepEqual(
              limiter.remaining(caller, category),
              model.remaining(`${category} ${i}`, limits, clock.now()),
            )
          }
        }
        assert.equal(limiter.stats().forgotten, 0)
      }),
      { numRuns: 60 },
    )
  },
)
