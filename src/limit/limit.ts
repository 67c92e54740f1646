import type { EarnedBackLimit } from './earned-back.ts'

/** At most `count` units for every window, in one of three ways. */
export interface TimedLimit {
  /**
   * - `earned_back` (the default): units come back continuously, `count` of them in a window, with a burst of up to `count`.
   * - `sliding_window`: an estimate from two counters, this window's and the previous one's: within about 1 % where the
   *   traffic is even and the count some hundred or more; never above twice the count in any window. Retry delays may be longer than
   *   the window, up to twice as long.
   * - `sliding_log`: exact, never more than `count` in any window; takes memory in proportion to `count`.
   *
   * A spend larger than `count` fits only a limit that is earned back, once everything before it is (RATE-020); no other ever admits it.
   */
  readonly kind?: 'earned_back' | 'sliding_window' | 'sliding_log' | undefined
  /** Units admitted. A whole number from 1 to 1,000,000,000. No default. */
  readonly count: number
  /** Length of the window in seconds. A whole number from 1 to 8,640,000 (100 days). No default. */
  readonly windowSeconds: number
}

/** At most `count` units while the application's epoch number stays the same. */
export interface EpochLimit {
  readonly kind: 'epoch'
  /** Units admitted in an epoch. A whole number from 1 to 1,000,000,000. No default. */
  readonly count: number
  /**
   * The number of the epoch now, asked at every spend, and more than once: a whole number from 0 to 2⁵³ − 1; anything else
   * makes the spend throw a RangeError. A number that goes back is treated as standing still. It must not use the limiter
   * whose limit this is: to spend, reserve or ask for what is left throws an Error.
   */
  readonly epoch: () => number
  /** Milliseconds until the next epoch, or null where that cannot be said. Default: it cannot. */
  readonly nextEpochInMs?: (() => number | null) | undefined
}

/** Admits nothing, ever: a different answer from "not yet". */
export interface BlockedLimit {
  readonly kind: 'blocked'
}

export type Limit = TimedLimit | EpochLimit | BlockedLimit

/** At most `count` kept open at a time. */
export interface HoldLimit {
  readonly kind: 'hold'
  readonly count: number
  /** What a refusal says: when one of them ends, nobody knows. */
  readonly retryDelaySeconds: number
}

/** Whatever a meter can count by. */
export type CountedLimit = Limit | HoldLimit

/** Whether units under a limit come back continuously, which is what the fixed table has room for. */
export function isEarnedBack(limit: CountedLimit): limit is EarnedBackLimit {
  return limit.kind === undefined || limit.kind === 'earned_back'
}
