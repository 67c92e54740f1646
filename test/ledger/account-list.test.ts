import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { manualClock } from '../../src/index.ts'
import { AccountList } from '../../src/ledger/account-list.ts'
import { MemoryLedger } from '../../src/ledger/memory-ledger.ts'
import { EarnedBackModel } from '../support/earned-back-model.ts'
import { limitsOf, second } from '../support/limiter-of.ts'

const MIB = 1024 * 1024

/** Of those lists, only the last is too long to be charged in one go. */
const anyBound = fc.record({
  limits: fc.constantFrom(...['3/60', '4/60, 6/90', '9/600, 5/30', '3/60, 5/90, 8/300'].map(limitsOf)),
  isForEverybody: fc.boolean(),
})

const anyStep = fc.record({
  keys: fc.array(fc.nat(2), { minLength: 6, maxLength: 6 }),
  cost: fc.integer({ min: 1, max: 5 }),
  advanceNs: fc.oneof(
    { weight: 5, arbitrary: fc.constant(0n) },
    { weight: 2, arbitrary: fc.bigInt({ min: 1n, max: 100n * second }) },
    { weight: 1, arbitrary: fc.bigInt({ min: 1n, max: 2n ** 33n * second }) },
  ),
})

t.test('RATE-022: a spend under up to six bounds is charged to all of them, or to none', async () => {
  const seen = { admitted: 0, denied: 0 }
  fc.assert(
    fc.property(
      fc.array(anyBound, { minLength: 1, maxLength: 6 }),
      fc.array(anyStep, { minLength: 20, maxLength: 40 }),
      (bounds, steps) => {
        const clock = manualClock(0n)
        const ledger = new MemoryLedger(MIB, 0, clock)
        const model = new EarnedBackModel(0n)
        const prints = [0, 1, 2].map((key) => ledger.fingerprint(`${key}`))
        const meters = bounds.map(({ limits, isForEverybody }) =>
          ledger.meter(limits, isForEverybody ? { keys: 0, overflow: 'share' } : undefined),
        )
        const concerned = (keys: readonly number[]) =>
          bounds.map(({ limits, isForEverybody }, i) => {
            const key = isForEverybody ? 0 : keys[i]!
            return { id: `${i} ${key}`, limits, account: { bound: `${i}`, meter: meters[i]!, print: prints[key]! } }
          })
        for (const { keys, cost, advanceNs } of steps) {
          clock.advance(advanceNs)
          const now = clock.now()
          const all = concerned(keys)
          const fits = all.map(({ id, limits }) => model.retryDelay(id, limits, cost, now) === 0)
          const list = new AccountList(all.map(({ account }) => account))
          const exceeded = ledger.spend(list, cost)
          assert.deepEqual(
            [...new Set(exceeded?.map(({ bound }) => bound))],
            all.filter((_, i) => !fits[i]).map(({ account }) => account.bound),
          )
          seen[exceeded === undefined ? 'admitted' : 'denied'] += 1
          if (exceeded === undefined) for (const { id, limits } of all) model.spend(id, limits, cost, now)
          for (const { id, limits, account } of [0, 1, 2].flatMap((key) => concerned(Array(6).fill(key)))) {
            const expected = model.remaining(id, limits, now).map(({ bound: _, ...left }) => left)
            assert.deepEqual(ledger.remaining(account), expected, id)
          }
        }
      },
    ),
    { numRuns: 150 },
  )
  assert.ok(seen.admitted > 500 && seen.denied > 500, JSON.stringify(seen))
})

t.test('a list of accounts is what it was made of, one by one', async (t) => {
  const ledger = new MemoryLedger(MIB, 0, manualClock())
  for (let length = 0; length <= 5; length++) {
    for (const kind of ['earned_back', 'sliding_log'] as const) {
      const accounts = Array.from({ length }, (_, i) => ({
        bound: `bound ${i}`,
        meter: ledger.meter(
          [{ kind, count: 5, windowSeconds: 60 }],
          kind === 'sliding_log' ? { keys: 3, overflow: 'forget' } : undefined,
        ),
        print: ledger.fingerprint(`${i}`),
      }))
      const list = new AccountList(accounts)
      t.equal(list.length, length)
      t.equal(list.isInTables, length === 0 || kind === 'earned_back')
      t.same(list.all, accounts)
    }
  }
})
