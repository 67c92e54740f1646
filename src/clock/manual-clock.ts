import type { Clock } from './clock.ts'

/** A clock that only moves when it is told to, for tests: a minute of stream rent passes in a microsecond. */
export interface ManualClock extends Clock {
  /**
   * Moves the clock forward by `ns` nanoseconds and runs, in order, whatever falls due on the way, each at its own
   * instant; what a run schedules is run too when it falls due by then.
   * @throws RangeError when `ns` is negative.
   */
  advance(ns: bigint): void

  /** How many scheduled runs are waiting. */
  readonly scheduled: number
}

/**
 * A clock that starts at `start` nanoseconds (default 0) and at `wallStart` ms since the Unix epoch (default 0), and
 * moves by `advance()`.
 */
export function manualClock(start = 0n, wallStart = 0): ManualClock {
  let now = start
  const waiting: { at: bigint; run: () => void }[] = []

  return {
    now: () => now,
    wall: () => wallStart + Number((now - start) / 1_000_000n),

    schedule(at, run) {
      const entry = { at, run }
      const later = waiting.findIndex((other) => other.at > at)
      waiting.splice(later === -1 ? waiting.length : later, 0, entry)
      return () => {
        const index = waiting.indexOf(entry)
        if (index !== -1) waiting.splice(index, 1)
      }
    },

    advance(ns) {
      if (ns < 0n) throw new RangeError(`advance: nanoseconds must be 0n or more, got ${ns}n`)
      const target = now + ns
      while (waiting[0] !== undefined && waiting[0].at <= target) {
        const { at, run } = waiting.shift()!
        if (at > now) now = at
        run()
      }
      now = target
    },

    get scheduled() {
      return waiting.length
    },
  }
}
