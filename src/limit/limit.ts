/** One limit, checked: how much is admitted, and how that comes back. */
export type Limit = TimedLimit | EpochLimit | BlockedLimit

/** `count` units for every `windowSeconds`. */
export interface TimedLimit {
  /**
   * How units come back. `earned_back`, which is meant where no kind is given: continuously, with a burst of up to `count`.
   * `sliding_window`: an estimate of the last window from two counters, never above 2 × `count` in any window.
   * `sliding_log`: never more than `count` in any window, exactly, with memory for `count` entries.
   */
  readonly kind?: 'earned_back' | 'sliding_window' | 'sliding_log'
  /** Units admitted for every window, and the largest burst. A whole number from 1 to 1,000,000,000. */
  readonly count: number
  /** Length of the window in seconds. A whole number from 1 to 8,640,000 (100 days). */
  readonly windowSeconds: number
}

/** `count` units for as long as the app's epoch number stays the same. */
export interface EpochLimit {
  readonly kind: 'epoch'
  /** Units admitted in one epoch. A whole number from 1 to 1,000,000,000. */
  readonly count: number
  /** The number of the current epoch: a whole number from 0 to 2⁵³ − 1. Called for each spend; must be quick. */
  readonly epoch: () => number
  /** Whole ms until the next epoch, at least 1; null where that cannot be said. Default: it never can. */
  readonly nextEpochInMs?: () => number | null
}

/** Nothing is admitted, ever. */
export interface BlockedLimit {
  readonly kind: 'blocked'
}
