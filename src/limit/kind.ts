import { blocked } from './blocked.ts'
import { earnedBack } from './earned-back-kind.ts'
import { epoch } from './epoch.ts'
import { hold } from './hold.ts'
import type { Instant } from './instant.ts'
import type { CountedLimit } from './limit.ts'
import { slidingLog } from './sliding-log.ts'
import { slidingWindow } from './sliding-window.ts'

/**
 * What one kind of limit does with what it remembers of a key: `size` numbers in `state` from `at`, all 0 when nothing
 * was spent. `now` never goes back, and what would count beyond `LATEST_INSTANT` stops counting then.
 *
 * `held` units (whole, 0 or more) are reserved: they count in full until they are released, which leaves no trace, or
 * committed, which is to `record` them then. So nothing that was recorded ever has to be taken back.
 */
export interface Kind<L> {
  /** How many numbers it remembers. */
  size(limit: L): number

  /**
   * Whether a spend of `units` (whole, 1 … 2⁵³ − 1) fits at `now` beside the units held. Changes nothing.
   * @throws RangeError when an epoch's source returns no epoch number; so do the other questions, but never `record`.
   */
  fits(limit: L, state: Float64Array, at: number, now: Readonly<Instant>, units: number, held: number): boolean

  /** Records units that fit, or did when they were reserved and were held since. */
  record(limit: L, state: Float64Array, at: number, now: Readonly<Instant>, units: number): void

  /**
   * Whole ms, rounded up, after which a spend that does not fit now fits if nothing else is spent and what is held stays
   * held; 1 ms earlier it does not (RATE-024). Null: never, or it cannot be said. Only for a spend that does not fit.
   */
  retryDelayMs(
    limit: L,
    state: Float64Array,
    at: number,
    now: Readonly<Instant>,
    units: number,
    held: number,
  ): number | null

  /** The largest cost, 0 … count, that would fit now. */
  remainingUnits(limit: L, state: Float64Array, at: number, now: Readonly<Instant>, held: number): number

  /** Whole ms, rounded up, until nothing that was recorded counts any more; 0: already. Null: it cannot be said. */
  fullInMs(limit: L, state: Float64Array, at: number, now: Readonly<Instant>): number | null
}

/** The kind that a limit says it is of. */
export function kindOf(limit: CountedLimit): Kind<CountedLimit> {
  switch (limit.kind) {
    case undefined:
    case 'earned_back':
      return earnedBack
    case 'sliding_window':
      return slidingWindow
    case 'sliding_log':
      return slidingLog
    case 'epoch':
      return epoch
    case 'blocked':
      return blocked
    case 'hold':
      return hold
  }
}
