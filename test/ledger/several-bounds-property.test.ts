import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { manualClock } from '../../src/index.ts'
import { MemoryLedger } from '../../src/ledger/memory-ledger.ts'
import { EarnedBackModel } from '../support/earned-back-model.ts'
import { limitsOf, second } from '../support/limiter-of.ts'

const bytesOfGroup = 8 * 40
const boundLimits = { first: limitsOf('3/60'), second: limitsOf('4/60, 3/30, 6/90'), third: limitsOf('9/600') }
const names = Object.keys(boundLimits) as (keyof typeof boundLimits)[]

const scriptArb = fc.record({
  groups: fc.integer({ min: 1, max: 2 }),
  actions: fc.array(
    fc.record({
      // A key for each bound: those of two bounds may be the same, and are not the same account.
      keys: fc.tuple(fc.nat(4), fc.nat(4), fc.nat(4)),
      about: fc.subarray([0, 1, 2], { minLength: 1 }),
      cost: fc.integer({ min: 1, max: 5 }),
      advanceNs: fc.oneof(
        { weight: 12, arbitrary: fc.constant(0n) },
        { weight: 2, arbitrary: fc.bigInt({ min: 1n, max: 100n * second }) },
        { weight: 1, arbitrary: fc.bigInt({ min: 1n, max: 5000n * second }) },
      ),
    }),
    { minLength: 20, maxLength: 80 },
  ),
})

t.test(
  'RATE-022 RATE-051: in a table too small, a spend under three bounds is charged to all, to none, and to no other',
  async () => {
    const seen = { denied: 0, forgotten: 0, whileRecording: 0 }
    fc.assert(
      fc.property(scriptArb, ({ groups, actions }) => {
        const clock = manualClock(0n)
        const ledger = new MemoryLedger(groups * bytesOfGroup, 0, clock)
        const model = new EarnedBackModel(0n)
        const meters = names.map((name) => ledger.meter(boundLimits[name], undefined))
        const prints = [0, 1, 2, 3, 4].map((key) => ledger.fingerprint(`${key}`))
        const all = names.flatMap((bound, i) =>
          prints.map((print, key) => ({
            id: `${bound} ${key}`,
            limits: boundLimits[bound],
            account: { bound, meter: meters[i]!, print },
          })),
        )
        const remembered = ({ account }: (typeof all)[number]) => ledger.remaining(account)
        for (const { keys, about, cost, advanceNs } of actions) {
          clock.advance(advanceNs)
          const now = clock.now()
          const concerned = about.map((i) => all[i * prints.length + keys[i]!]!)
          const fits = concerned.map(({ id, limits }) => model.retryDelay(id, limits, cost, now) === 0)
          const before = ledger.stats().forgotten
          const exceeded = ledger.spend(
            concerned.map(({ account }) => account),
            cost,
          )
          assert.equal(exceeded === undefined, fits.every(Boolean), 'all must admit')
          if (exceeded === undefined) {
            for (const { id, limits } of concerned) model.spend(id, limits, cost, now)
          } else {
            seen.denied += 1
            assert.deepEqual(
              [...new Set(exceeded.map(({ bound }) => bound))],
              concerned.filter((_, i) => !fits[i]).map(({ account }) => account.bound),
            )
            for (const { id, limits, account } of concerned) {
              const own: number[] = exceeded
                .filter(({ bound }) => bound === account.bound)
                .map(({ retryDelayMs }) => retryDelayMs!)
              assert.equal(Math.max(0, ...own), model.retryDelay(id, limits, cost, now))
            }
          }
          let forgotten = 0
          for (const one of all) {
            const expected = model.remaining(one.id, one.limits, now).map(({ bound: _, ...left }) => left)
            const found = remembered(one)
            if (found.every(({ fullInMs }) => fullInMs === 0) && model.owes(one.id, now)) {
              forgotten += 1
              model.forget(one.id)
            } else {
              assert.deepEqual(found, expected, `${one.id}: as the model says, or forgotten whole`)
            }
          }
          // One that was forgotten for another of the same spend is there again, with all that it had.
          const thereAgain = ledger.stats().forgotten - before - forgotten
          assert.ok(thereAgain >= 0 && thereAgain <= concerned.length, `${thereAgain}`)
          seen.whileRecording += thereAgain
          if (exceeded !== undefined) assert.equal(forgotten, 0, 'a denial forgets nobody')
          seen.forgotten += forgotten
        }
      }),
      { numRuns: 200 },
    )
    assert.ok(seen.denied > 300 && seen.forgotten > 300 && seen.whileRecording > 0, JSON.stringify(seen))
  },
)
