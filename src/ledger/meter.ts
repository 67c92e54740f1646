import type { Instant } from '../limit/instant.ts'
import type { CountedLimit } from '../limit/limit.ts'
import type { Fingerprint } from './fingerprint.ts'

/** A limit that does not admit a spend. */
export interface Exceeded {
  readonly limit: CountedLimit
  /** Whole ms, rounded up: the same spend is admitted then and not 1 ms earlier (RATE-024). null: never, or it cannot be said. */
  readonly retryDelayMs: number | null
}

/** What is left under one limit. */
export interface Remaining {
  readonly limit: CountedLimit
  /** The largest cost, at most the count, that this limit would admit now. */
  readonly units: number
  /** Whole ms, rounded up, until everything spent is earned back. null: it cannot be said. */
  readonly fullInMs: number | null
}

/**
 * What was spent under one list of limits, for each key: of one category of one kind of caller, or of one bound. Keys come
 * as fingerprints. A spend is weighed first, and recorded only when every meter that it concerns admits it.
 */
export interface Meter {
  readonly limits: readonly CountedLimit[]

  /** Whether `units` (1 … 2⁵³ − 1) fit, beside what is held. What it leaves behind is for the call that follows. */
  weigh(print: Fingerprint, units: number, now: Readonly<Instant>): boolean

  /** Records the units just weighed. */
  record(print: Fingerprint, units: number, now: Readonly<Instant>): void

  /** Weighs units and, where they fit, records them. */
  spend(print: Fingerprint, units: number, now: Readonly<Instant>): boolean

  /**
   * The limits that do not admit the units just weighed, in the order of their declaration.
   * @param heldAsSpent Whether the delays are those after which the units fit if what is held were recorded now. Otherwise it stays held.
   */
  exceeded(print: Fingerprint, units: number, now: Readonly<Instant>, heldAsSpent: boolean): Exceeded[]

  /**
   * Holds the units just weighed: they count in full, and are not earned back, until they are released.
   * @returns What `release` wants to know.
   */
  hold(print: Fingerprint, units: number, now: Readonly<Instant>): number

  /** Gives back what is held, as if it had never been. */
  release(print: Fingerprint, place: number, units: number): void

  /** Records units that were held, and are released. */
  commit(print: Fingerprint, place: number, units: number, now: Readonly<Instant>): void

  /** What is left under each limit. Records nothing. */
  remaining(print: Fingerprint, now: Readonly<Instant>): Remaining[]
}
