import type { Instant } from './instant.ts'
import { LATEST_INSTANT, msUntil, NANOS_PER_SECOND } from './instant.ts'

/**
 * The arithmetic of a limit that is earned back (RATE-020 … 024, known elsewhere as GCRA). All that is remembered per
 * caller and limit is one instant: when every admitted spend is earned back. *Debt* is how far that lies ahead of now;
 * a spend of cost n adds n × window / count to it and fits while the debt does not pass the window.
 *
 * Every value is a whole number of nanoseconds and exact. Doubles suffice, since a window is at most 100 days
 * (8.64 × 10¹⁵ ns < 2⁵³) and a count at most 10⁹ (count × window seconds < 2⁵³); no step leaves that range.
 */

/** `count` units (1 … 10⁹, whole) per `windowSeconds` (1 … 8,640,000, whole). */
export interface EarnedBackLimit {
  readonly count: number
  readonly windowSeconds: number
}

/** The time that a cost is earned back in under a limit. */
export interface Price {
  limit: EarnedBackLimit | undefined
  cost: number
  /** All of it, rounded down to nanoseconds: whole seconds, and 0 … 999,999,999 ns. */
  seconds: number
  nanos: number
  /** The largest debt with which it is admitted (RATE-020), in nanoseconds. */
  mostDebtNs: number
}

/** A price to be filled by `priceInto`, meant to be kept and reused. */
export function emptyPrice(): Price {
  return { limit: undefined, cost: 0, seconds: 0, nanos: 0, mostDebtNs: 0 }
}

/** Works out what `cost` (1 … 2⁵³ − 1, whole) takes to be earned back. What `price` already holds is not worked out again. */
export function priceInto(limit: EarnedBackLimit, cost: number, price: Price): void {
  if (price.limit === limit && price.cost === cost) return
  const { count, windowSeconds } = limit
  // Costs up to the count stay below one window or equal it; only the part of a larger cost beyond whole windows is divided.
  const wholeWindows = cost > count ? Math.floor(cost / count) : 0
  const part = cost - wholeWindows * count
  // Long division of part × window by count, in steps whose products stay below 2⁵³: seconds, then µs, then ns.
  const product = part * windowSeconds
  const seconds = Math.floor(product / count)
  const microProduct = (product - seconds * count) * 1e6
  const micros = Math.floor(microProduct / count)
  const nanoProduct = (microProduct - micros * count) * 1e3
  const rest = Math.floor(nanoProduct / count)
  const nanos = micros * 1e3 + rest
  price.limit = limit
  price.cost = cost
  price.seconds = wholeWindows * windowSeconds + seconds
  price.nanos = nanos
  const ceilNs = seconds * NANOS_PER_SECOND + nanos + (nanoProduct === rest * count ? 0 : 1)
  price.mostDebtNs = cost > count ? 0 : windowSeconds * NANOS_PER_SECOND - ceilNs
}

/** Nanoseconds from `now` until `earnedBack`, 0 when that is past. Exact up to 2⁵³, and never below 2⁵³ beyond. */
export function debtNs(earnedBack: Readonly<Instant>, now: Readonly<Instant>): number {
  const ns = (earnedBack.seconds - now.seconds) * NANOS_PER_SECOND + (earnedBack.nanos - now.nanos)
  return Math.max(ns, 0)
}

/**
 * Writes into `earnedBack` when everything is earned back once a spend that fits is admitted.
 * @param from When everything before it is earned back: now, if there is no debt.
 */
export function chargeInto(price: Price, from: Readonly<Instant>, earnedBack: Instant): void {
  let seconds = from.seconds + price.seconds
  let nanos = from.nanos + price.nanos
  if (nanos >= NANOS_PER_SECOND) {
    nanos -= NANOS_PER_SECOND
    seconds += 1
  }
  if (seconds > LATEST_INSTANT.seconds) {
    seconds = LATEST_INSTANT.seconds
    nanos = LATEST_INSTANT.nanos
  }
  earnedBack.seconds = seconds
  earnedBack.nanos = nanos
}

/**
 * RATE-024: milliseconds, rounded up, after which a spend that does not fit at `now` fits. One millisecond earlier it
 * does not.
 */
export function retryDelayMs(price: Price, earnedBack: Readonly<Instant>, now: Readonly<Instant>): number {
  return msUntil(earnedBack, now, price.mostDebtNs)
}

/** The largest cost, at most the count, that would be admitted to a caller with this debt. */
export function remainingUnits(limit: EarnedBackLimit, debt: number): number {
  const windowNs = limit.windowSeconds * NANOS_PER_SECOND
  if (debt >= windowNs) return 0
  return Number((BigInt(windowNs - debt) * BigInt(limit.count)) / BigInt(windowNs))
}
