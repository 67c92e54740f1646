import fc from 'fast-check'
import t from 'tap'
import { manualClock } from '../../src/index.ts'
import { EarnedBackModel, type Limit } from '../support/earned-back-model.ts'
import { apiKey, limiterOf, second, withReadInto } from '../support/limiter-of.ts'
import { limitsArb, play, type Step, scriptArb, year } from '../support/script.ts'

const callers = ['one', 'another', 'a third'].map(apiKey)

interface Plot {
  readonly startNs: bigint
  readonly uptimeNs: bigint
  readonly limits: Limit[]
  readonly script: Step[]
}

const uptimeArb = fc.oneof(fc.constant(0n), fc.bigInt({ min: 0n, max: 50n * year }))

const plotArb = (maxWindowSeconds: number, maxTimes: number): fc.Arbitrary<Plot> =>
  limitsArb(maxWindowSeconds).chain((limits) =>
    fc.record({
      startNs: uptimeArb,
      uptimeNs: uptimeArb,
      limits: fc.constant(limits),
      script: scriptArb(limits, maxTimes, callers.length),
    }),
  )

const perform = ({ startNs, uptimeNs, limits, script }: Plot): void => {
  for (const clock of [manualClock(startNs), withReadInto(manualClock(startNs))]) {
    const { limiter } = limiterOf(limits, startNs, clock)
    clock.advance(uptimeNs)
    play({ limiter, clock, model: new EarnedBackModel(startNs), limits, callers, category: 'work', startNs }, script)
  }
}

const hour = 3600n * second
const step = (advanceNs: bigint, cost: number, waitOut = false): Step => ({ advanceNs, caller: 0, cost, waitOut })

t.test(
  'RATE-020 RATE-022 RATE-024: decisions, delays and what remains are those of the model, up to 10^6 counts at once',
  async () => {
    fc.assert(fc.property(plotArb(3600, 1_000_000), perform), {
      numRuns: 700,
      examples: [
        // 2^53 ns is 104 days: neither an uptime nor an earned-back time may go through a double.
        [
          {
            startNs: 0n,
            uptimeNs: 2n ** 53n + 1n,
            limits: [{ count: 3, windowSeconds: 1 }],
            script: [step(0n, 3), step(0n, 1, true)],
          },
        ],
        [
          {
            startNs: 0n,
            uptimeNs: 50n * year,
            limits: [{ count: 3, windowSeconds: 1 }],
            script: [step(0n, 1), step(0n, 1), step(1n, 2, true)],
          },
        ],
        [
          {
            startNs: 0n,
            uptimeNs: 50n * year + 1n,
            limits: [{ count: 7, windowSeconds: 3600 }],
            script: [step(0n, 7_000_000), step(hour, 1, true)],
          },
        ],
        [
          {
            startNs: 1n,
            uptimeNs: 0n,
            limits: [{ count: 1_000_000_000, windowSeconds: 3599 }],
            script: [step(0n, 1e15), step(0n, 1, true), step(0n, 999_999_999, true)],
          },
        ],
      ],
    })
  },
)

t.test('RATE-020 RATE-024: the same for windows of up to 100 days', async () => {
  fc.assert(fc.property(plotArb(8_640_000, 50), perform), { numRuns: 300 })
})
