/** What the server said of a limit. */
export interface Reading {
  readonly count: number
  readonly windowMs: number
  /** Whole units that were left. */
  readonly remaining: number
  /** Until all of `count` is left again. */
  readonly fullInMs: number
}

/** Units left `elapsedMs` after the reading when nothing was spent since, with fractions: they come back evenly. */
export function levelAt({ count, windowMs, fullInMs }: Reading, elapsedMs: number): number {
  if (count === 0) return 0
  const owedMs = Math.max(0, fullInMs - elapsedMs)
  return Math.max(0, count * (1 - owedMs / windowMs))
}

/** The whole units of that. Never more than there are: the milliseconds of a reading are rounded up. */
export function unitsAt(reading: Reading, elapsedMs: number): number {
  return Math.min(reading.count, Math.max(reading.remaining, Math.floor(levelAt(reading, elapsedMs) + 1e-9)))
}
