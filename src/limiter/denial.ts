import type { BoundExceeded } from '../ledger/memory-ledger.ts'
import type { Remaining } from '../ledger/meter.ts'
import type { CountedLimit } from '../limit/limit.ts'
import type { Hold, Reservation } from './reservation.ts'

/** A limit that did not admit a spend. */
export interface ExceededLimit {
  /** The bound that it is one of; `caller` for the limits of `rateLimits`. */
  readonly bound: string
  readonly limit: CountedLimit
  /**
   * Whole ms, rounded up, after which this limit admits the same spend; 1 ms earlier it does not (RATE-024). null: never, or
   * it cannot be said when, as while open reservations hold the room.
   */
  readonly retryDelayMs: number | null
}

/** A spend that does not fit. */
export interface Denial {
  /** The category; of a hold that was refused, its name. */
  readonly category: string
  /** The first bound that was exceeded, in the order of declaration; `caller` for the limits of `rateLimits`. */
  readonly bound: string
  /** The first limit of that bound that was exceeded, in the order of declaration. */
  readonly limit: CountedLimit
  /**
   * Whole ms, rounded up, after which the same spend is admitted if nothing else is spent in the category until
   * then; 1 ms earlier it is denied (RATE-024): the longest of all limits exceeded. null: it cannot be said when, or never.
   */
  readonly retryDelayMs: number | null
  /** Every limit exceeded, in the order of declaration. At least one. */
  readonly exceeded: readonly ExceededLimit[]
}

/** What is left under one limit. */
export interface RemainingUnits extends Remaining {
  /** The bound that it is one of; `caller` for the limits of `rateLimits`. */
  readonly bound: string
}

/** What was denied, and why. */
interface Denied {
  readonly admitted: false
  readonly denial: Denial
}

/** The answer to a spend. */
export type SpendResult = { readonly admitted: true } | Denied

/** The answer to a reservation. */
export type ReserveResult = { readonly admitted: true; readonly reservation: Reservation } | Denied

/** The answer to a hold. */
export type HoldResult = { readonly admitted: true; readonly hold: Hold } | Denied

/** What a spend, or a hold, of a category that exceeds these limits is told. */
export function denialOf(category: string, exceeded: readonly BoundExceeded[]): Denial {
  const { bound, limit } = exceeded[0]!
  return { category, bound, limit, retryDelayMs: longest(exceeded), exceeded }
}

/** The longest delay; null when one of them cannot be said. */
export function longest(exceeded: readonly BoundExceeded[]): number | null {
  let ms = 0
  for (const { retryDelayMs } of exceeded) {
    if (retryDelayMs === null) return null
    ms = Math.max(ms, retryDelayMs)
  }
  return ms
}
