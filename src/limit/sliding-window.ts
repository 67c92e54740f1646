import type { Instant } from './instant.ts'
import type { Kind } from './kind.ts'
import type { TimedLimit } from './limit.ts'
import { isLatest, msUntilOrLatest } from './saturation.ts'

/**
 * The two-window estimate: a spend fits while what this window counted, plus what the previous one counted times the
 * part of this window that is still to come, stays within the count. Windows follow one another from the ledger's zero.
 *
 * It remembers a window's number, what that window counted, and what the one before it did. No estimate grows while
 * nothing is spent: at the end of a window its count becomes the previous one's, in full.
 *
 * Everything is exact: a window's count times seconds stays below 10⁹ × 8.64 × 10⁶ < 2⁵³.
 */
export const slidingWindow: Kind<TimedLimit> = {
  size: () => 3,

  fits(limit, state, at, now, units, held) {
    const number = windowOf(limit, now)
    const room = limit.count - held - units - currentOf(state, at, number)
    return carriedUnitSeconds(previousOf(state, at, number), limit.windowSeconds, now) <= room * limit.windowSeconds
  },

  record(limit, state, at, now, units) {
    if (isLatest(now)) return
    const number = windowOf(limit, now)
    const current = currentOf(state, at, number)
    state[at + 2] = previousOf(state, at, number)
    // More than the count was recorded only if it did not fit; the arithmetic stays in its range all the same.
    state[at + 1] = Math.min(current + units, limit.count)
    state[at] = number
  },

  retryDelayMs(limit, state, at, now, units, held) {
    const room = limit.count - held - units
    if (room < 0) return null
    const number = windowOf(limit, now)
    const current = currentOf(state, at, number)
    // Either the previous window has to count less, or, where this one alone is too much, this one has to once it is previous.
    const [counted, share, end] =
      current <= room ? [previousOf(state, at, number), room - current, number + 1] : [current, room, number + 2]
    // `counted` × the time left is at most `share` × the window from here on, this long before the end.
    const leftNs = (BigInt(share) * BigInt(limit.windowSeconds) * 1_000_000_000n) / BigInt(counted)
    return msUntilOrLatest(end * limit.windowSeconds, 0, now, Number(leftNs))
  },

  remainingUnits(limit, state, at, now, held) {
    const number = windowOf(limit, now)
    const carried = carriedUnitSeconds(previousOf(state, at, number), limit.windowSeconds, now)
    return Math.max(0, limit.count - held - currentOf(state, at, number) - Math.ceil(carried / limit.windowSeconds))
  },

  fullInMs(limit, state, at, now) {
    const number = windowOf(limit, now)
    if (currentOf(state, at, number) > 0) return msUntilOrLatest((number + 2) * limit.windowSeconds, 0, now)
    if (previousOf(state, at, number) > 0) return msUntilOrLatest((number + 1) * limit.windowSeconds, 0, now)
    return 0
  },
}

/** The number of the window that `now` lies in; where time stops, one that no earlier window counts in any more. */
function windowOf(limit: TimedLimit, now: Readonly<Instant>): number {
  return Math.floor(now.seconds / limit.windowSeconds) + (isLatest(now) ? 2 : 0)
}

/** What window `number` has counted. */
function currentOf(state: Float64Array, at: number, number: number): number {
  return state[at] === number ? state[at + 1]! : 0
}

/** What the window before `number` counted. */
function previousOf(state: Float64Array, at: number, number: number): number {
  if (state[at] === number) return state[at + 2]!
  return state[at] === number - 1 ? state[at + 1]! : 0
}

/** `previous` units times the seconds that are left of the window, rounded up to a whole number. */
function carriedUnitSeconds(previous: number, windowSeconds: number, now: Readonly<Instant>): number {
  // previous × nanos / 10⁹, rounded down, in steps whose products stay below 2⁵³: first the µs, then the ns.
  const micros = Math.floor(now.nanos / 1e3)
  const microProduct = previous * micros
  const whole = Math.floor(microProduct / 1e6)
  const nanoProduct = (microProduct - whole * 1e6) * 1e3 + previous * (now.nanos - micros * 1e3)
  const passed = whole + Math.floor(nanoProduct / 1e9)
  return previous * (windowSeconds - (now.seconds % windowSeconds)) - passed
}
