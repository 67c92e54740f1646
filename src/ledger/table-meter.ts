import type { EarnedBackLimit, Price } from '../limit/earned-back.ts'
import { chargeInto, debtNs, emptyPrice, fits, priceInto, remainingUnits, retryDelayMs } from '../limit/earned-back.ts'
import type { Instant } from '../limit/instant.ts'
import { msUntil } from '../limit/instant.ts'
import { MAX_LIMITS } from '../limit/ranges.ts'
import { type Fingerprint, randomSalt } from './fingerprint.ts'
import { HeldUnits } from './held-units.ts'
import type { Exceeded, Meter, Remaining } from './meter.ts'
import type { Table } from './table.ts'

/** The meter of limits that are earned back, in the table of fixed size. An admitted spend allocates nothing. */
export class TableMeter implements Meter {
  readonly limits: readonly EarnedBackLimit[]
  readonly #tableOf: () => Table
  #known: Table | undefined
  /** Keeps the same key's records under other meters of the table apart. */
  readonly #salt = randomSalt()
  readonly #held = new HeldUnits()
  readonly #prices = Array.from({ length: MAX_LIMITS }, emptyPrice)
  readonly #pricesBesideHeld = Array.from({ length: MAX_LIMITS }, emptyPrice)
  readonly #debts = new Float64Array(MAX_LIMITS)
  readonly #instant: Instant = { seconds: 0, nanos: 0 }
  #slot = -1
  #heldUnits = 0

  /** @param tableOf The table, which is there when it is first needed. */
  constructor(limits: readonly EarnedBackLimit[], tableOf: () => Table) {
    this.limits = limits
    this.#tableOf = tableOf
  }

  get #table(): Table {
    this.#known ??= this.#tableOf()
    return this.#known
  }

  weigh(print: Fingerprint, units: number, now: Readonly<Instant>): boolean {
    const table = this.#table
    const limits = this.limits
    const slot = table.find(print, this.#salt)
    const held = this.#held.of(table, print)
    this.#slot = slot
    this.#heldUnits = held
    let admitted = true
    for (let i = 0; i < limits.length; i++) {
      const limit = limits[i]!
      const price = this.#prices[i]!
      priceInto(limit, units, price)
      const debt = slot === -1 ? 0 : debtNs(this.#earnedBack(slot, i), now)
      this.#debts[i] = debt
      if (!(held === 0 ? fits(limit, price, debt) : this.#fitsBesideHeld(i, units))) admitted = false
    }
    return admitted
  }

  record(print: Fingerprint, _units: number, now: Readonly<Instant>): void {
    const table = this.#table
    const limits = this.limits
    const slot = this.#ownSlot(table, print, now)
    for (let i = 0; i < limits.length; i++) {
      chargeInto(limits[i]!, this.#prices[i]!, this.#debts[i]!, now, this.#instant)
      table.write(slot, i, this.#instant)
    }
  }

  exceeded(_print: Fingerprint, units: number, now: Readonly<Instant>, heldAsSpent: boolean): Exceeded[] {
    return this.limits.flatMap((limit, i) => {
      if (this.#fits(i, units)) return []
      const earnedBack = this.#earnedBack(this.#slot, i)
      if (this.#heldUnits === 0) return { limit, retryDelayMs: retryDelayMs(limit, this.#prices[i]!, earnedBack, now) }
      if (heldAsSpent) return { limit, retryDelayMs: this.#delayAfterHeld(i, earnedBack, now) }
      // What is held is not earned back, however long one waits.
      if (this.#heldUnits + units > limit.count) return { limit, retryDelayMs: null }
      return { limit, retryDelayMs: retryDelayMs(limit, this.#priceBesideHeld(i, units), earnedBack, now) }
    })
  }

  hold(print: Fingerprint, units: number, now: Readonly<Instant>): number {
    this.#held.hold(this.#table, print, units, now)
    return 0
  }

  release(print: Fingerprint, _place: number, units: number): void {
    this.#held.release(this.#table, print, units)
  }

  commit(print: Fingerprint, place: number, units: number, now: Readonly<Instant>): void {
    this.release(print, place, units)
    this.weigh(print, units, now)
    this.record(print, units, now)
  }

  remaining(print: Fingerprint, now: Readonly<Instant>): Remaining[] {
    const slot = this.#table.find(print, this.#salt)
    const held = this.#held.of(this.#table, print)
    return this.limits.map((limit, i) => {
      const earnedBack = this.#earnedBack(slot, i)
      const units = Math.max(0, remainingUnits(limit, debtNs(earnedBack, now)) - held)
      return { limit, units, fullInMs: msUntil(earnedBack, now) }
    })
  }

  /** The delay of the units just weighed under limit number `i`, if what is held were recorded now. */
  #delayAfterHeld(i: number, earnedBack: Readonly<Instant>, now: Readonly<Instant>): number {
    const limit = this.limits[i]!
    const ofHeld = emptyPrice()
    priceInto(limit, this.#heldUnits, ofHeld)
    const after = { ...earnedBack }
    chargeInto(limit, ofHeld, this.#debts[i]!, now, after)
    return retryDelayMs(limit, this.#prices[i]!, after, now)
  }

  /** Whether the units just weighed fit under limit number `i`. */
  #fits(i: number, units: number): boolean {
    if (this.#heldUnits > 0) return this.#fitsBesideHeld(i, units)
    return fits(this.limits[i]!, this.#prices[i]!, this.#debts[i]!)
  }

  #fitsBesideHeld(i: number, units: number): boolean {
    const limit = this.limits[i]!
    return this.#heldUnits + units <= limit.count && fits(limit, this.#priceBesideHeld(i, units), this.#debts[i]!)
  }

  #priceBesideHeld(i: number, units: number): Price {
    const price = this.#pricesBesideHeld[i]!
    priceInto(this.limits[i]!, units + this.#heldUnits, price)
    return price
  }

  /** The slot just found, unless another meter has taken it since. */
  #ownSlot(table: Table, print: Fingerprint, now: Readonly<Instant>): number {
    if (this.#slot !== -1 && table.isAt(this.#slot, print, this.#salt)) return this.#slot
    return table.claim(print, this.#salt, now)
  }

  #earnedBack(slot: number, limit: number): Readonly<Instant> {
    if (slot === -1) {
      this.#instant.seconds = 0
      this.#instant.nanos = 0
    } else {
      this.#table.readInto(slot, limit, this.#instant)
    }
    return this.#instant
  }
}
