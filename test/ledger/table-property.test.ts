import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { manualClock } from '../../src/index.ts'
import type { Fingerprint } from '../../src/ledger/fingerprint.ts'
import { MemoryLedger } from '../../src/ledger/memory-ledger.ts'
import { Table } from '../../src/ledger/table.ts'
import type { Instant } from '../../src/limit/instant.ts'
import { MAX_LIMITS } from '../../src/limit/ranges.ts'
import { EarnedBackModel } from '../support/earned-back-model.ts'
import { limitsOf, second } from '../support/limiter-of.ts'
import { groupOf, idOf, latestOf, nsOf, soonestOf, TableModel } from '../support/table-model.ts'

/** What a table of so many groups of eight slots takes: ten words of 32 bits a slot. */
const bytesOf = (groups: number) => groups * 8 * 10 * 4

const none: Fingerprint = { a: 0, b: 0, c: 0, d: 0 }

/**
 * So few words that prints share a group, and differ in any one of their words only. The first word decides the group:
 * these fall into both halves and all thirds of it, and beside their edges.
 */
const printArb: fc.Arbitrary<Fingerprint> = fc.record({
  a: fc.constantFrom(0, 1, 0x5555_5555, 0x5555_5556, 0x7fff_ffff, -0x8000_0000, -1),
  b: fc.constantFrom(0, 1, -1),
  c: fc.constantFrom(0, 1),
  d: fc.constantFrom(0, -0x8000_0000),
})
const saltArb = fc.oneof({ weight: 3, arbitrary: fc.constant(none) }, { weight: 1, arbitrary: printArb })

/** Of few values, so that many are equal, in order also where a word of the slot changes its sign. */
const instantArb: fc.Arbitrary<Instant> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ seconds: fc.nat({ max: 12 }), nanos: fc.constantFrom(0, 1, 999_999_999) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      seconds: fc.constantFrom(2 ** 31 - 1, 2 ** 32, 2 ** 33 - 1, 2 ** 33, 2 ** 34 - 1),
      nanos: fc.constantFrom(0, 999_999_999),
    }),
  },
)
const stepArb = fc.record({
  print: printArb,
  salt: saltArb,
  instants: fc.array(instantArb, { minLength: 1, maxLength: MAX_LIMITS }),
  /** How time passes before: mostly not at all, so that groups fill up. */
  advanceSeconds: fc.oneof({ weight: 12, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat({ max: 6 }) }),
})

const instantsIn = (table: Table, slot: number): bigint[] =>
  Array.from({ length: MAX_LIMITS }, (_, limit) => {
    const instant = { seconds: -1, nanos: -1 }
    table.readInto(slot, limit, instant)
    return nsOf(instant)
  })

t.test('RATE-051 RATE-052: whatever collides, fills and evicts, each group is a small map of its own', async () => {
  let evicted = 0
  let reused = 0
  fc.assert(
    fc.property(
      fc.constantFrom(1, 2, 3),
      fc.nat({ max: 20 }),
      fc.array(stepArb, { minLength: 60, maxLength: 250 }),
      (groups, startSeconds, steps) => {
        const table = new Table(bytesOf(groups))
        assert.equal(table.slots, groups * 8)
        assert.equal(table.bytes, bytesOf(groups))
        const model = new TableModel(groups)
        const now = { seconds: startSeconds, nanos: 0 }
        for (const { print, salt, instants, advanceSeconds } of steps) {
          now.seconds += advanceSeconds
          const nowNs = nsOf(now)
          const id = idOf(print, salt)
          const found = table.find(print, salt)
          if (model.owes(id, nowNs)) assert.notEqual(found, -1, `${id} owes, and must be found`)

          let slot = found
          if (found === -1) {
            const before = table.forgotten
            const owing = model.owing(id, nowNs)
            slot = table.claim(print, salt, now)
            assert.equal(table.find(print, salt), slot, 'what was claimed is found: there is room for everyone')
            assert.deepEqual(instantsIn(table, slot), [0n, 0n, 0n], 'and owes nothing')
            const gone = owing.filter((other) => {
              const at = table.find(other.print, none)
              return at === -1 || latestOf(instantsIn(table, at)) !== latestOf(other.instants)
            })
            if (owing.length < 8) assert.deepEqual(gone, [], 'nobody who owes goes while another slot is free')
            else {
              assert.equal(gone.length, 1, 'one goes for one that comes')
              const soonest = soonestOf(owing.map(({ instants }) => latestOf(instants)))
              assert.equal(latestOf(gone[0]!.instants), soonest, 'the one that is earned back soonest')
              model.forget(gone[0]!.id)
              evicted++
            }
            assert.equal(table.forgotten - before, gone.length, 'and is counted')
          } else reused++
          for (const [limit, instant] of instants.entries()) table.write(slot, limit, instant)
          model.write(id, found === -1, instants.map(nsOf))

          for (const { id: other, print: otherPrint, instants: wanted } of model.all()) {
            const at = table.find(otherPrint, none)
            if (latestOf(wanted) > nowNs) assert.notEqual(at, -1, `${other} owes, and must be found`)
            if (at === -1) continue
            const owed = (ns: bigint) => (ns > nowNs ? ns : nowNs)
            assert.deepEqual(instantsIn(table, at).map(owed), wanted.map(owed), `what ${other} owes`)
          }
        }
      },
    ),
    { numRuns: 150 },
  )
  assert.ok(evicted > 500 && reused > 500, `${evicted} evicted, ${reused} found again`)
})

t.test('RATE-051: a print lives in the group that its first word says, and fills no other', async (t) => {
  for (const groups of [1, 2, 3, 7, 1000]) {
    for (const a of [0, 1, 0x5555_5555, 0x5555_5556, 0x7fff_ffff, -0x8000_0000, -0x7fff_ffff, -2, -1]) {
      const table = new Table(bytesOf(groups))
      const now = { seconds: 1, nanos: 0 }
      const slots = new Set<number>()
      for (let b = 1; b <= 20; b++) {
        const slot = table.claim({ a, b, c: b, d: b }, none, now)
        table.write(slot, 0, { seconds: 1 + b, nanos: 0 })
        slots.add(slot)
      }
      t.equal(slots.size, 8, `eight slots of ${table.slots} for ${a}`)
      t.equal(table.forgotten, 12, 'all others are forgotten')
      const first = Math.min(...slots)
      t.equal(Math.floor(first / (8 * 10)), groupOf(a, groups), `the group of ${a} among ${groups}`)
    }
  }
})

t.test(
  'RATE-020 RATE-051: a full group denies nobody: a ledger of eight slots decides as one without end',
  async () => {
    const limits = limitsOf('3/60, 5/3600')
    const actionArb = fc.record({
      print: printArb,
      cost: fc.integer({ min: 1, max: 6 }),
      advanceNs: fc.oneof(
        { weight: 8, arbitrary: fc.constant(0n) },
        { weight: 2, arbitrary: fc.bigInt({ min: 1n, max: 900n * second }) },
        { weight: 1, arbitrary: fc.bigInt({ min: 1n, max: 9000n * second }) },
      ),
    })
    let forgotten = 0
    fc.assert(
      fc.property(fc.array(actionArb, { minLength: 40, maxLength: 150 }), (actions) => {
        const clock = manualClock(0n)
        const ledger = new MemoryLedger(bytesOf(1), 0, clock)
        const meter = ledger.meter(limits, undefined)
        const account = (print: Fingerprint) => ({ bound: 'caller', meter, print })
        const model = new EarnedBackModel(0n)
        const known = new Map<string, Fingerprint>()
        for (const { print, cost, advanceNs } of actions) {
          clock.advance(advanceNs)
          const id = idOf(print, none)
          const now = clock.now()
          const before = ledger.stats().forgotten
          const owing = [...known].filter(([key]) => model.owes(key, now))
          assert.ok(owing.length <= 8)
          const isNew = !model.owes(id, now)
          const refusal = ledger.spend([account(print)], cost)
          assert.equal(
            refusal === undefined,
            model.spend(id, limits, cost, now).admitted,
            `a spend of ${cost} by ${id}`,
          )
          if (isNew) assert.equal(refusal, undefined, 'who owes nothing is admitted, whoever else is there')
          known.set(id, print)
          if (ledger.stats().forgotten > before) {
            forgotten++
            assert.ok(isNew && owing.length === 8, 'forgets only for a new caller, in a group full of callers that owe')
            const fullInMs = (key: string) =>
              Math.max(...model.remaining(key, limits, now).map((left) => left.fullInMs))
            const gone = owing.filter(([, other]) => ledger.remaining(account(other)).every((l) => l.fullInMs === 0))
            assert.equal(gone.length, 1)
            const [key] = gone[0]!
            assert.equal(
              fullInMs(key),
              Math.min(...owing.map(([other]) => fullInMs(other))),
              'who is earned back soonest',
            )
            model.forget(key)
            known.delete(key)
          }
          for (const [key, other] of known) {
            assert.deepEqual(
              ledger.remaining(account(other)).map((left) => ({ bound: 'caller', ...left })),
              model.remaining(key, limits, now),
              `what ${key} has`,
            )
          }
        }
      }),
      { numRuns: 150 },
    )
    assert.ok(forgotten > 500, `${forgotten} forgotten`)
  },
)
