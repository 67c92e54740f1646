import type { EarnedBackLimit, Price } from '../limit/earned-back.ts'
import { chargeInto, debtNs, emptyPrice, priceInto, remainingUnits, retryDelayMs } from '../limit/earned-back.ts'
import type { Instant } from '../limit/instant.ts'
import { msUntil } from '../limit/instant.ts'
import { MAX_LIMITS } from '../limit/ranges.ts'
import { type Fingerprint, randomSalt } from './fingerprint.ts'
import { HeldUnits } from './held-units.ts'
import type { Exceeded, Meter, Remaining } from './meter.ts'
import { PriceList } from './price-list.ts'
import type { Table } from './table.ts'

// Kept and reused, so that a spend allocates nothing.
const price = emptyPrice()
const recorded: Instant = { seconds: 0, nanos: 0 }

/** The meter of limits that are earned back, in the table of fixed size. An admitted spend allocates nothing. */
export class TableMeter implements Meter {
  readonly limits: readonly EarnedBackLimit[]
  readonly #tableOf: () => Table
  #known: Table | undefined
  /** Keeps the same key's records under other meters of the table apart. */
  readonly #salt = randomSalt()
  readonly #held = new HeldUnits()
  readonly #prices: PriceList
  /** Whether a slot's body holds all of its instants. */
  readonly #isShort: boolean
  /** Of the key just weighed. */
  #slot = -1
  #heldUnits = 0
  /** What its slot said. */
  readonly #saved = new Int32Array(2 * MAX_LIMITS)

  /** @param tableOf The table, which is there when it is first needed. */
  constructor(limits: readonly EarnedBackLimit[], tableOf: () => Table) {
    this.limits = limits
    this.#tableOf = tableOf
    this.#prices = new PriceList(limits)
    this.#isShort = limits.length < MAX_LIMITS
  }

  weigh(print: Fingerprint, units: number, now: Readonly<Instant>): boolean {
    const table = this.#known ?? this.#table()
    this.#slot = table.find(print, this.#salt)
    this.#heldUnits = this.#held.of(table, print)
    if (this.#slot !== -1) table.save(this.#slot, this.limits.length, this.#saved)
    return this.#fitsNow(table, units, now)
  }

  record(print: Fingerprint, units: number, now: Readonly<Instant>): void {
    const table = this.#known ?? this.#table()
    let slot = this.#slot
    if (slot === -1 || !table.isAt(slot, print, this.#salt)) {
      slot = table.claim(print, this.#salt, now)
      // Another meter that the spend concerns has taken its slot, since it was weighed.
      if (this.#slot !== -1) table.restore(slot, this.limits.length, this.#saved)
    }
    table.charge(slot, this.limits.length, this.#prices.of(units), now)
  }

  spend(print: Fingerprint, units: number, now: Readonly<Instant>): boolean {
    const table = this.#known ?? this.#table()
    if (this.#isShort && this.#held.isNone) {
      const prices = this.#prices.of(units)
      const slot = table.atHome(print, this.#salt)
      if (slot !== -1 && table.chargeInOneGo(slot, prices, now)) return true
    }
    if (!this.weigh(print, units, now)) return false
    this.record(print, units, now)
    return true
  }

  /** Whether `spendAtOnce` can be tried for a key. */
  isReady(print: Fingerprint): boolean {
    if (!this.#isShort || !this.#held.isNone) return false
    this.#slot = this.#table().atHome(print, this.#salt)
    return this.#slot !== -1
  }

  /**
   * Spends units of the key that is ready, if they fit and that is simple; otherwise changes nothing. Of several meters that a
   * spend concerns each does so at once, and where one does not, the others take it back.
   */
  spendAtOnce(units: number, now: Readonly<Instant>): boolean {
    const table = this.#table()
    table.save(this.#slot, this.limits.length, this.#saved)
    return table.chargeInOneGo(this.#slot, this.#prices.of(units), now)
  }

  /** Undoes what `spendAtOnce` has just done. */
  takeBack(): void {
    this.#table().restore(this.#slot, this.limits.length, this.#saved)
  }

  exceeded(_print: Fingerprint, units: number, now: Readonly<Instant>, heldAsSpent: boolean): Exceeded[] {
    return this.limits.flatMap((limit, i) => {
      if (this.#fits(i, units, now)) return []
      const earnedBack = this.#earnedBack(this.#slot, i)
      if (heldAsSpent) return { limit, retryDelayMs: this.#delayAfterHeld(i, units, earnedBack, now) }
      // What is held is not earned back, however long one waits.
      if (this.#heldUnits > 0 && this.#heldUnits + units > limit.count) return { limit, retryDelayMs: null }
      return { limit, retryDelayMs: retryDelayMs(priceOf(limit, units + this.#heldUnits), earnedBack, now) }
    })
  }

  hold(print: Fingerprint, units: number, now: Readonly<Instant>): number {
    this.#held.hold(this.#table(), print, units, now)
    return 0
  }

  release(print: Fingerprint, _place: number, units: number): void {
    this.#held.release(this.#table(), print, units)
  }

  commit(print: Fingerprint, place: number, units: number, now: Readonly<Instant>): void {
    this.release(print, place, units)
    this.weigh(print, units, now)
    this.record(print, units, now)
  }

  remaining(print: Fingerprint, now: Readonly<Instant>): Remaining[] {
    const table = this.#table()
    const slot = table.find(print, this.#salt)
    const held = this.#held.of(table, print)
    return this.limits.map((limit, i) => {
      const earnedBack = this.#earnedBack(slot, i)
      const units = Math.max(0, remainingUnits(limit, debtNs(earnedBack, now)) - held)
      return { limit, units, fullInMs: msUntil(earnedBack, now) }
    })
  }

  /** Whether units of the key just found fit under all limits. */
  #fitsNow(table: Table, units: number, now: Readonly<Instant>): boolean {
    if (this.#heldUnits > 0) {
      for (let i = 0; i < this.limits.length; i++) if (!this.#fits(i, units, now)) return false
      return true
    }
    return this.#slot === -1 || table.fits(this.#slot, this.limits.length, this.#prices.of(units), now)
  }

  /** The delay of the units just weighed under limit number `i`, if what is held were recorded now. */
  #delayAfterHeld(i: number, units: number, earnedBack: Readonly<Instant>, now: Readonly<Instant>): number {
    const limit = this.limits[i]!
    const after = { ...earnedBack }
    if (this.#heldUnits > 0) {
      chargeInto(priceOf(limit, this.#heldUnits), debtNs(earnedBack, now) > 0 ? earnedBack : now, after)
    }
    return retryDelayMs(priceOf(limit, units), after, now)
  }

  /** Whether the units just weighed fit under limit number `i`. */
  #fits(i: number, units: number, now: Readonly<Instant>): boolean {
    const limit = this.limits[i]!
    if (this.#heldUnits > 0 && this.#heldUnits + units > limit.count) return false
    if (this.#slot === -1) return true
    this.#table().readInto(this.#slot, i, recorded)
    priceInto(limit, units + this.#heldUnits, price)
    return debtNs(recorded, now) <= price.mostDebtNs
  }

  #earnedBack(slot: number, limit: number): Instant {
    const instant = { seconds: 0, nanos: 0 }
    if (slot !== -1) this.#table().readInto(slot, limit, instant)
    return instant
  }

  #table(): Table {
    this.#known ??= this.#tableOf()
    return this.#known
  }
}

function priceOf(limit: EarnedBackLimit, cost: number): Price {
  const price = emptyPrice()
  priceInto(limit, cost, price)
  return price
}
