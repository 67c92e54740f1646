import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { Fingerprint } from '../../src/ledger/fingerprint.ts'
import { type Overflow, Records } from '../../src/ledger/records.ts'
import type { Instant } from '../../src/limit/instant.ts'
import { idOf } from '../support/table-model.ts'
import { type Due, RecordsModel } from './records-model.ts'

const none = { a: 0, b: 0, c: 0, d: 0 }

/** One number a record: the second from which on it is idle; or, as a negative number, the epoch it was recorded in, less one. */
class World {
  readonly records: Records
  readonly model: RecordsModel
  readonly now: Instant = { seconds: 0, nanos: 0 }
  asked = 0

  constructor(keys: number, overflow: Overflow) {
    this.model = new RecordsModel(keys, overflow === 'forget')
    this.records = new Records(keys, 1, overflow, (record) => {
      this.asked += 1
      const value = this.records.state[record]!
      if (value >= 0) return value
      return this.model.isIdle({ epoch: -value - 1 }) ? 0 : Number.POSITIVE_INFINITY
    })
  }

  advance(seconds: number, epochs: number): void {
    this.now.seconds += seconds
    this.model.second += seconds
    this.model.epoch += epochs
  }

  /** Gives a key the record that it should have. */
  claim(print: Fingerprint): number {
    const key = idOf(print, none)
    const { records, model, now } = this
    const expected = model.found(key)
    const victims = expected === 'blank' && model.isFull() ? model.victims() : []
    const { forgotten } = records
    const found = records.find(print, now)
    if (expected === 'shared') assert.equal(found, records.shared, `${key} has no record of its own`)
    else if (expected === 'blank') assert.ok(found === records.blank || this.#saysNothing(found))
    else assert.ok(found < records.keys, `${key} has a record of its own`)
    const record = records.claim(print, now)
    assert.equal(record, found === records.blank ? record : found, 'claims what was found')
    assert.ok(record < records.keys || expected === 'shared')
    assert.equal(records.forgotten - forgotten, victims.length > 0 ? 1 : 0)
    if (victims.length > 0) {
      const gone = victims.filter((victim) => !this.#has(victim))
      assert.equal(gone.length, 1, 'one of those that are idle soonest is forgotten')
      model.forget(gone[0]!)
    }
    return record
  }

  spend(print: Fingerprint, due: Due): void {
    const key = idOf(print, none)
    const record = this.claim(print)
    if (record === this.records.shared) {
      this.records.recorded(record, this.now)
      return
    }
    // What counts longest stays, as it does where spends are earned back.
    const before = this.model.dueOf(key)
    const stays = !this.model.isIdle(before) && ('epoch' in before || ('second' in due && due.second < before.second))
    const after = stays ? before : due
    this.records.state[record] = 'second' in after ? after.second : -after.epoch - 1
    this.records.recorded(record, this.now)
    this.model.record(key, after)
  }

  /** Looks at all keys. */
  check(keys: Iterable<Fingerprint>): void {
    const tracked = this.model.tracked()
    assert.ok(tracked.size <= this.records.keys && this.records.used <= this.records.keys)
    for (const print of keys) {
      const key = idOf(print, none)
      const found = this.records.find(print, this.now)
      const entry = tracked.get(key)
      if (entry === undefined) {
        assert.ok(found >= this.records.keys || this.#saysNothing(found), `${key} says nothing`)
        continue
      }
      assert.ok(found < this.records.keys, `${key} is remembered`)
      const { due, held } = entry
      if (!this.model.isIdle(due)) {
        assert.equal(this.records.state[found], 'second' in due ? due.second : -due.epoch - 1)
      }
      assert.equal(this.records.held[found], held)
    }
    assert.equal(this.records.state[this.records.blank], 0)
    assert.equal(this.records.held[this.records.blank], 0)
  }

  #has(key: string): boolean {
    const [a, b, c, d] = key.split(' ').map(Number) as [number, number, number, number]
    return this.records.find({ a, b, c, d }, this.now) < this.records.keys
  }

  #saysNothing(record: number): boolean {
    const value = this.records.state[record]!
    const due = value >= 0 ? { second: value } : { epoch: -value - 1 }
    return this.records.held[record] === 0 && this.model.isIdle(due)
  }
}

/** Few keys, many of which fall into the same hash bucket of so many records. */
const printArb = (keys: number): fc.Arbitrary<Fingerprint> =>
  fc.record({
    a: fc.constantFrom(0, 2 * keys + 1, 4 * keys + 2, 1, -1, 2 ** 31 - 1, -(2 ** 31)),
    b: fc.constantFrom(0, 1),
    c: fc.constantFrom(0, 1),
    d: fc.constantFrom(0, 1),
  })

// One meter has records of one sort: by time, or, where an epoch's end is not known, by epoch.
const scriptArb = fc.integer({ min: 1, max: 6 }).chain((keys) =>
  fc.record({
    keys: fc.constant(keys),
    byEpoch: fc.boolean(),
    actions: fc.array(
      fc.record({
        print: printArb(keys),
        seconds: fc.constantFrom(0, 0, 0, 1, 3, 40),
        epochs: fc.constantFrom(0, 0, 0, 0, 1),
        do: fc.constantFrom('spend', 'spend', 'spend', 'spend', 'hold', 'hold', 'release', 'look'),
        forSeconds: fc.integer({ min: 1, max: 30 }),
        number: fc.nat(9),
      }),
      { minLength: 20, maxLength: 120 },
    ),
  }),
)

for (const overflow of ['forget', 'share'] as const) {
  t.test(`RATE-051: ${overflow}: exactly so many keys are tracked, idle ones go first, held ones never`, async () => {
    const seen = { full: 0, shared: 0, forgotten: 0, held: 0 }
    fc.assert(
      fc.property(scriptArb, ({ keys, byEpoch, actions }) => {
        const world = new World(keys, overflow)
        const { records, model } = world
        const prints = new Map<string, Fingerprint>()
        const holds: { key: string; record: number; units: number }[] = []
        for (const action of actions) {
          world.advance(action.seconds, action.epochs)
          const key = idOf(action.print, none)
          prints.set(key, action.print)
          if (model.isFull()) seen.full += 1
          if (model.found(key) === 'shared') seen.shared += 1
          if (action.do === 'spend') {
            world.spend(action.print, byEpoch ? { epoch: model.epoch } : { second: model.second + action.forSeconds })
          } else if (action.do === 'hold') {
            const record = world.claim(action.print)
            const units = action.number + 1
            records.hold(record, units)
            if (record !== records.shared) model.hold(key, units)
            holds.push({ key, record, units })
            seen.held += 1
          } else if (action.do === 'release') {
            const [hold] = holds.splice(action.number % (holds.length || 1), 1)
            if (hold === undefined) continue
            records.release(hold.record, hold.units)
            if (hold.record !== records.shared) model.hold(hold.key, -hold.units)
          } else {
            world.check(prints.values())
          }
          assert.ok(records.used <= keys)
        }
        world.check(prints.values())
        seen.forgotten += records.forgotten
        if (overflow === 'share') assert.equal(records.forgotten, 0)
        const inShared = holds.filter(({ record }) => record === records.shared)
        assert.equal(
          records.held[records.shared],
          inShared.reduce((sum, { units }) => sum + units, 0),
        )
      }),
      { numRuns: 300 },
    )
    assert.ok(seen.full > 1000 && seen.shared > 50 && seen.held > 500, JSON.stringify(seen))
    if (overflow === 'forget') assert.ok(seen.forgotten > 200, JSON.stringify(seen))
  })
}

const printOf = (n: number): Fingerprint => ({ a: Math.imul(n, 0x9e3779b1), b: n, c: n, d: n })

for (const overflow of ['forget', 'share'] as const) {
  for (const kind of ['second', 'epoch'] as const) {
    t.test(
      `RATE-050: ${overflow}: a flood of fresh keys asks of few records whether they are idle (${kind})`,
      async (t) => {
        const keys = 50_000
        const world = new World(keys, overflow)
        const { records, now } = world
        const spend = (n: number, second: number) => {
          const before = world.asked
          const record = records.claim(printOf(n), now)
          records.state[record] = kind === 'second' ? second : -1
          records.recorded(record, now)
          return world.asked - before
        }
        // Each is idle at another time, so that a flood meets one that has just become so.
        for (let n = 0; n < keys; n++) spend(n, 1 + n)
        t.equal(records.used, keys)
        let most = 0
        for (let n = 0; n < keys; n++) {
          now.seconds += 1
          most = Math.max(most, spend(keys + n, 1e6))
        }
        t.ok(most <= 9, `${most} at most`)
        t.equal(records.used, keys)
      },
    )
  }
}

t.test('what an epoch says of its end is not believed when it comes to it', async (t) => {
  let ended = false
  const now: Instant = { seconds: 0, nanos: 0 }
  // Says for each that it is idle in a second, and a second later again, as a source that is wrong does.
  const records: Records = new Records(20, 1, 'share', (_record, at) => (ended ? 0 : at.seconds + 1))
  const spend = (n: number) => {
    const record = records.claim(printOf(n), now)
    records.recorded(record, now)
    return record
  }
  for (let n = 0; n < 20; n++) spend(n)
  now.seconds = 5
  t.equal(spend(20), records.shared, 'there is no room: none is idle')
  for (let n = 0; n < 20; n++) t.ok(records.find(printOf(n), now) < 20, 'nothing is lost')
  ended = true
  now.seconds = 7
  t.ok(spend(21) < 20)
})

t.test('the bytes that records say they take are those that they take', async (t) => {
  for (const [keys, size] of [
    [0, 3],
    [1, 0],
    [1, 3],
    [7, 2],
    [1000, 33],
  ] as const) {
    t.equal(new Records(keys, size, 'share', () => 0).bytes, Records.bytes(keys, size))
  }
})
