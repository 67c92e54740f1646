import type { Clock } from '../clock/clock.ts'
import type { EarnedBackLimit } from '../limit/earned-back.ts'
import {
  chargeInto,
  debtNs,
  emptyPrice,
  fits,
  msUntil,
  priceInto,
  remainingUnits,
  retryDelayMs,
} from '../limit/earned-back.ts'
import type { Instant } from '../limit/instant.ts'
import { MAX_LIMITS } from '../limit/ranges.ts'
import type { Fingerprint } from './fingerprint.ts'
import { Fingerprinter } from './fingerprint.ts'
import { Table } from './table.ts'
import { Timeline } from './timeline.ts'

/** Why a spend does not fit: the first limit exceeded, and the longest delay over all limits exceeded. */
export interface Refusal {
  readonly limit: EarnedBackLimit
  /** Whole ms, rounded up; the same spend is admitted then and not 1 ms earlier (RATE-024). */
  readonly retryDelayMs: number
}

/** What is left under one limit. */
export interface Remaining {
  readonly limit: EarnedBackLimit
  /** The largest cost, at most the count, that this limit would admit now. */
  readonly units: number
  /** Whole ms, rounded up, until everything spent is earned back. */
  readonly fullInMs: number
}

/**
 * The ledger in this process's memory, of a fixed size (RATE-050). Synchronous; an admitted spend allocates nothing.
 * What is spent in one category is kept apart from the others by that category's salt.
 */
export class MemoryLedger {
  readonly #table: Table
  readonly #timeline: Timeline
  readonly #fingerprinter = new Fingerprinter()
  readonly #prices = Array.from({ length: MAX_LIMITS }, emptyPrice)
  readonly #debts = new Float64Array(MAX_LIMITS)
  readonly #instant: Instant = { seconds: 0, nanos: 0 }

  /** @param bytes The memory that the records may take, all of it allocated now. */
  constructor(bytes: number, clock: Clock) {
    this.#table = new Table(bytes)
    this.#timeline = new Timeline(clock)
  }

  /** The fingerprint that a caller's key is recorded under. Worth keeping: it costs more than a spend. */
  fingerprint(key: string): Fingerprint {
    return this.#fingerprinter.of(key)
  }

  /**
   * Records one spend under every limit, or, when one does not admit it, under none and returns why.
   * @param limits At most three. Always the same for the same fingerprint and salt.
   * @param cost Whole units, 0 … 2⁵³ − 1. A spend of 0 is always admitted and leaves no trace.
   */
  spend(print: Fingerprint, salt: Fingerprint, limits: readonly EarnedBackLimit[], cost: number): Refusal | undefined {
    if (cost === 0 || limits.length === 0) return undefined
    const now = this.#timeline.read()
    const found = this.#table.find(print, salt)
    if (!this.#weigh(found, limits, cost, now)) return this.#refusal(found, limits, now)
    const slot = found === -1 ? this.#table.claim(print, salt, now) : found
    for (let i = 0; i < limits.length; i++) {
      chargeInto(limits[i]!, this.#prices[i]!, this.#debts[i]!, now, this.#instant)
      this.#table.write(slot, i, this.#instant)
    }
    return undefined
  }

  /** What `spend` would answer now. Records nothing. */
  check(print: Fingerprint, salt: Fingerprint, limits: readonly EarnedBackLimit[], cost: number): Refusal | undefined {
    if (cost === 0 || limits.length === 0) return undefined
    const now = this.#timeline.read()
    const found = this.#table.find(print, salt)
    return this.#weigh(found, limits, cost, now) ? undefined : this.#refusal(found, limits, now)
  }

  /** What is left under each limit. Records nothing. */
  remaining(print: Fingerprint, salt: Fingerprint, limits: readonly EarnedBackLimit[]): Remaining[] {
    const now = this.#timeline.read()
    const slot = this.#table.find(print, salt)
    return limits.map((limit, i) => {
      const earnedBack = this.#earnedBack(slot, i)
      return { limit, units: remainingUnits(limit, debtNs(earnedBack, now)), fullInMs: msUntil(earnedBack, now) }
    })
  }

  /** `slots`: callers × categories that can be remembered; `bytes`: memory allocated for them; `forgotten`: RATE-051. */
  stats(): { slots: number; bytes: number; forgotten: number } {
    const { slots, bytes, forgotten } = this.#table
    return { slots, bytes, forgotten }
  }

  /** Whether every limit admits the cost. Leaves each limit's price and debt for what comes next. */
  #weigh(slot: number, limits: readonly EarnedBackLimit[], cost: number, now: Readonly<Instant>): boolean {
    let admitted = true
    for (let i = 0; i < limits.length; i++) {
      const limit = limits[i]!
      const price = this.#prices[i]!
      priceInto(limit, cost, price)
      const debt = slot === -1 ? 0 : debtNs(this.#earnedBack(slot, i), now)
      this.#debts[i] = debt
      if (!fits(limit, price, debt)) admitted = false
    }
    return admitted
  }

  /** The refusal of a spend that was just weighed and did not fit. */
  #refusal(slot: number, limits: readonly EarnedBackLimit[], now: Readonly<Instant>): Refusal {
    let first: EarnedBackLimit | undefined
    let longest = 0
    limits.forEach((limit, i) => {
      const price = this.#prices[i]!
      if (fits(limit, price, this.#debts[i]!)) return
      first ??= limit
      longest = Math.max(longest, retryDelayMs(limit, price, this.#earnedBack(slot, i), now))
    })
    return { limit: first!, retryDelayMs: longest }
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
