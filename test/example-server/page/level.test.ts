import fc from 'fast-check'
import t from 'tap'
import { levelAt, unitsAt } from '../../../example-server/page/level.ts'
import { createLimiter, manualClock } from '../../../src/index.ts'

const caller = { type: 'ip', address: '127.0.0.1' } as const

t.test(
  'between two readings a meter shows what a reading would say: never more, and at most what a millisecond earns less',
  async () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 500 }),
        fc.integer({ min: 1, max: 3600 }),
        fc.array(fc.tuple(fc.nat(600), fc.nat(30_000)), { minLength: 1, maxLength: 5 }),
        fc.nat(4_000_000),
        (count, windowSeconds, spends, elapsedMs) => {
          const clock = manualClock(0n)
          const limits = [{ count, windowSeconds }]
          const limiter = createLimiter({ clock, rateLimits: { categories: { work: { default: limits } } } })
          for (const [cost, pauseMs] of spends) {
            limiter.spend(caller, 'work', cost)
            clock.advance(BigInt(pauseMs) * 1_000_000n)
          }
          const [read] = limiter.remaining(caller, 'work')
          const reading = { count, windowMs: windowSeconds * 1000, remaining: read!.units, fullInMs: read!.fullInMs! }
          if (unitsAt(reading, 0) !== read!.units) return false
          clock.advance(BigInt(elapsedMs) * 1_000_000n)
          const { units } = limiter.remaining(caller, 'work')[0]!
          const shown = unitsAt(reading, elapsedMs)
          const level = levelAt(reading, elapsedMs)
          return (
            shown <= units && shown >= Math.max(0, units - Math.ceil(count / (windowSeconds * 1000))) && level <= count
          )
        },
      ),
    )
  },
)

t.test('a spend larger than its limit leaves the meter empty until its debt is below the window', async (t) => {
  const reading = { count: 10, windowMs: 1000, remaining: 0, fullInMs: 2500 }
  const levels = [0, 1500, 1600, 2000, 2500, 9999].map((elapsedMs) => levelAt(reading, elapsedMs).toFixed(9))
  t.same(levels.map(Number), [0, 0, 1, 5, 10, 10])
})
