import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Test } from 'tap'
import type { Instant } from '../../src/limit/instant.ts'
import { kindOf } from '../../src/limit/kind.ts'
import type { Limit } from '../../src/limit/limit.ts'
import { latestNs } from '../support/earned-back-model.ts'
import { millisecond, second } from '../support/limiter-of.ts'
import { advanceArb, costArb, year } from '../support/script.ts'
import { type Model, type Scale, windowNs } from './kind-models.ts'

/** Where the time of a test is kept, so that an epoch's source can read it too. */
export interface World {
  nowNs: bigint
}

/** A kind under test: its limits, and a model of each. */
export interface Subject {
  readonly name: string
  /** What the limits allow: `windowSeconds` is the length of an epoch, where there are epochs. */
  readonly scales: fc.Arbitrary<Scale>
  readonly limit: (scale: Scale, world: World) => Limit
  readonly model: (scale: Scale) => Model
  /** Whether it goes by the ledger's time, which stops at its latest instant. */
  readonly timed: boolean
}

interface Step {
  readonly byNs: bigint
  /** Whether to go to the start of the next window first. */
  readonly toBoundary: boolean
  readonly action: 'spend' | 'fill' | 'reserve' | 'commit' | 'release'
  readonly units: number
  readonly waitOut: boolean
}

interface Plot {
  readonly scale: Scale
  readonly startNs: bigint
  readonly script: readonly Step[]
}

const MARGIN = 2
const UNTOUCHED = -7

/** One key's state under one limit, between margins that nobody may touch, with the units held beside it. */
export class Key {
  readonly limit: Limit
  readonly world: World
  readonly state: Float64Array
  readonly held: number[] = []
  readonly #now: Instant = { seconds: 0, nanos: 0 }

  constructor(limit: Limit, world: World) {
    this.limit = limit
    this.world = world
    const size = kindOf(limit).size(limit)
    this.state = new Float64Array(size + 2 * MARGIN).fill(UNTOUCHED)
    this.state.fill(0, MARGIN, MARGIN + size)
  }

  get heldUnits(): number {
    return this.held.reduce((total, units) => total + units, 0)
  }

  fits(units: number, held = this.heldUnits): boolean {
    return kindOf(this.limit).fits(this.limit, this.state, MARGIN, this.#instant(), units, held)
  }

  record(units: number): void {
    kindOf(this.limit).record(this.limit, this.state, MARGIN, this.#instant(), units)
    assert.deepEqual([...this.state.slice(0, MARGIN), ...this.state.slice(-MARGIN)], Array(2 * MARGIN).fill(UNTOUCHED))
  }

  spend(units: number): boolean {
    const fits = this.fits(units)
    if (fits) this.record(units)
    return fits
  }

  retryDelayMs(units: number, held = this.heldUnits): number | null {
    return kindOf(this.limit).retryDelayMs(this.limit, this.state, MARGIN, this.#instant(), units, held)
  }

  remainingUnits(held = this.heldUnits): number {
    return kindOf(this.limit).remainingUnits(this.limit, this.state, MARGIN, this.#instant(), held)
  }

  fullInMs(): number | null {
    return kindOf(this.limit).fullInMs(this.limit, this.state, MARGIN, this.#instant())
  }

  #instant(): Readonly<Instant> {
    this.#now.seconds = Number(this.world.nowNs / second)
    this.#now.nanos = Number(this.world.nowNs % second)
    return this.#now
  }
}

const plotArb = ({ scales, timed }: Subject): fc.Arbitrary<Plot> =>
  scales.chain((scale) => {
    const windows = fc.bigInt({ min: 0n, max: 4n * windowNs(scale) })
    return fc.record({
      scale: fc.constant(scale),
      startNs: fc.oneof(
        fc.constant(0n),
        fc.bigInt({ min: 0n, max: 50n * year }),
        ...(timed ? [windows.map((ns) => latestNs - ns)] : []),
      ),
      script: fc.array(
        fc.record({
          byNs: fc.oneof({ weight: 3, arbitrary: advanceArb([scale]) }, { weight: 1, arbitrary: windows }),
          toBoundary: fc.nat(3).map((n) => n === 0),
          action: fc.constantFrom('spend', 'spend', 'fill', 'reserve', 'reserve', 'commit', 'release'),
          units: costArb([scale], 1e9).map((units) => Math.max(1, units)),
          waitOut: fc.boolean(),
        }),
        { maxLength: 14 },
      ),
    })
  })

const later = (nowNs: bigint, byMs: number): bigint => {
  const ns = nowNs + BigInt(byMs) * millisecond
  return ns > latestNs ? latestNs : ns
}

function advance(world: World, scale: Scale, { byNs, toBoundary }: Step): void {
  const window = windowNs(scale)
  const fromNs = toBoundary ? (world.nowNs / window + 1n) * window : world.nowNs
  world.nowNs = fromNs + byNs > latestNs ? latestNs : fromNs + byNs
}

/** Asks everything that can be asked now, of the key and of the model. */
function compare(key: Key, model: Model, count: number, units: number): void {
  const { world } = key
  const nowNs = world.nowNs
  const held = key.heldUnits
  const before = key.state.slice()
  const fitsAt = (ns: bigint, cost: number, beside: number) => model.fits(ns, BigInt(cost), BigInt(beside))
  const atDelay = (delayMs: number, cost: number, beside: number, fits: boolean) => {
    assert.equal(fitsAt(later(nowNs, delayMs), cost, beside), fits, `the model ${delayMs} ms later`)
    world.nowNs = later(nowNs, delayMs)
    assert.equal(key.fits(cost, beside), fits, `${delayMs} ms later`)
    world.nowNs = nowNs
  }

  assert.equal(key.fits(units), fitsAt(nowNs, units, held), `${units} beside ${held}`)

  const remaining = key.remainingUnits()
  assert.ok(Number.isInteger(remaining) && remaining >= 0 && remaining <= count, `${remaining} remain`)
  if (remaining > 0) assert.ok(fitsAt(nowNs, remaining, held), `${remaining} that remain`)
  if (remaining < count) assert.ok(!fitsAt(nowNs, remaining + 1, held), `one more than the ${remaining} that remain`)

  const fullInMs = key.fullInMs()
  assert.equal(fullInMs === null, !fitsAt(latestNs, count, 0), `full in ${fullInMs}`)
  if (fullInMs !== null) atDelay(fullInMs, count, 0, true)
  if (fullInMs !== null && fullInMs > 0) atDelay(fullInMs - 1, count, 0, false)

  if (!key.fits(units)) {
    const delayMs = key.retryDelayMs(units)
    assert.equal(delayMs === null, !fitsAt(latestNs, units, held), `a delay of ${delayMs}`)
    if (delayMs !== null) {
      assert.ok(Number.isSafeInteger(delayMs) && delayMs >= 1, `a delay of ${delayMs}`)
      atDelay(delayMs, units, held, true)
      atDelay(delayMs - 1, units, held, false)
      // To the nanosecond: the first at which the model admits it, and the one before.
      let firstNs = later(nowNs, delayMs)
      let deniedNs = later(nowNs, delayMs - 1)
      while (firstNs - deniedNs > 1n) {
        const middleNs = (firstNs + deniedNs) / 2n
        if (fitsAt(middleNs, units, held)) firstNs = middleNs
        else deniedNs = middleNs
      }
      world.nowNs = firstNs
      assert.ok(key.fits(units), `${units} at ${firstNs} ns`)
      world.nowNs = deniedNs
      assert.ok(!key.fits(units), `${units} at ${deniedNs} ns`)
      world.nowNs = nowNs
    }
  }
  assert.deepEqual(key.state, before, 'questions and refusals change nothing')
}

/** Runs a script, comparing at each step. */
function perform(subject: Subject, { scale, startNs, script }: Plot): void {
  const world: World = { nowNs: startNs }
  const key = new Key(subject.limit(scale, world), world)
  const model = subject.model(scale)
  const record = (units: number) => {
    key.record(units)
    model.record(world.nowNs, BigInt(units))
  }
  for (const step of script) {
    advance(world, scale, step)
    const units = step.action === 'fill' ? Math.max(1, key.remainingUnits()) : step.units
    compare(key, model, scale.count, units)
    if (step.action === 'commit' || step.action === 'release') {
      const reserved = key.held.shift()
      if (reserved === undefined) continue
      assert.ok(key.fits(reserved), 'what was reserved fits for as long as it is held')
      if (step.action === 'commit') record(reserved)
    } else {
      const delayMs = key.fits(units) ? 0 : step.waitOut ? key.retryDelayMs(units) : null
      if (delayMs === null) continue
      world.nowNs = later(world.nowNs, delayMs)
      if (step.action === 'reserve') key.held.push(units)
      else record(units)
    }
    compare(key, model, scale.count, step.units)
  }
}

/** Runs a script beside one in which nothing is ever reserved, and what is committed is spent then. */
function performBeside(subject: Subject, { scale, startNs, script }: Plot): void {
  const world: World = { nowNs: startNs }
  const limit = subject.limit(scale, world)
  const reserving = new Key(limit, world)
  const spending = new Key(limit, world)
  for (const step of script) {
    advance(world, scale, step)
    const units = step.action === 'fill' ? Math.max(1, reserving.remainingUnits()) : step.units
    if (step.action === 'reserve') {
      if (reserving.fits(units)) reserving.held.push(units)
    } else if (step.action === 'release') {
      reserving.held.shift()
    } else if (step.action === 'commit') {
      const reserved = reserving.held.shift()
      if (reserved === undefined) continue
      reserving.record(reserved)
      assert.ok(spending.spend(reserved), 'what is committed would be admitted then')
    } else if (reserving.spend(units)) {
      assert.ok(spending.spend(units), 'what fits beside reservations fits without')
    }
    assert.deepEqual(reserving.state, spending.state)
  }
  reserving.held.length = 0
  for (const units of [1, scale.count]) assert.equal(reserving.fits(units), spending.fits(units))
}

/** What every kind of limit promises. */
export function kindContract(t: Test, subject: Subject, numRuns: number): void {
  t.test(`${subject.name}: decisions, exact delays, what remains and when all is back are the model's`, async () => {
    fc.assert(
      fc.property(plotArb(subject), (plot) => perform(subject, plot)),
      { numRuns },
    )
  })

  t.test(`${subject.name}: what is released leaves no trace, what is committed is a spend then`, async () => {
    fc.assert(
      fc.property(plotArb(subject), (plot) => performBeside(subject, plot)),
      { numRuns },
    )
  })
}
