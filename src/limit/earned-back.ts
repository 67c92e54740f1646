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

/** The time that a cost is earned back in under a limit: `wholeWindows` windows, and between `floorNs` and `ceilNs` more. */
export interface Price {
  limit: EarnedBackLimit | undefined
  cost: number
  wholeWindows: number
  floorNs: number
  ceilNs: number
}

/** A price to be filled by `priceInto`, meant to be kept and reused. */
export function emptyPrice(): Price {
  return { limit: undefined, cost: 0, wholeWindows: 0, floorNs: 0, ceilNs: 0 }
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
  const nanos = Math.floor(nanoProduct / count)
  price.limit = limit
  price.cost = cost
  price.wholeWindows = wholeWindows
  price.floorNs = seconds * NANOS_PER_SECOND + micros * 1e3 + nanos
  price.ceilNs = nanoProduct === nanos * count ? price.floorNs : price.floorNs + 1
}

/** Nanoseconds from `now` until `earnedBack`, 0 when that is past. Exact up to 2⁵³, and never below 2⁵³ beyond. */
export function debtNs(earnedBack: Readonly<Instant>, now: Readonly<Instant>): number {
  const ns = (earnedBack.seconds - now.seconds) * NANOS_PER_SECOND + (earnedBack.nanos - now.nanos)
  return Math.max(ns, 0)
}

/** RATE-020: whether a spend at this price is admitted to a caller with this debt. */
export function fits(limit: EarnedBackLimit, price: Price, debt: number): boolean {
  return price.cost > limit.count ? debt === 0 : price.ceilNs <= limit.windowSeconds * NANOS_PER_SECOND - debt
}

/** Writes into `earnedBack` when everything is earned back once a spend that fits is admitted at `now`. */
export function chargeInto(
  limit: EarnedBackLimit,
  price: Price,
  debt: number,
  now: Readonly<Instant>,
  earnedBack: Instant,
): void {
  // Both are at most one window here: a larger debt would not have fitted.
  const ns = debt + price.floorNs
  const wholeSeconds = Math.floor(ns / NANOS_PER_SECOND)
  let seconds = now.seconds + price.wholeWindows * limit.windowSeconds + wholeSeconds
  let nanos = now.nanos + (ns - wholeSeconds * NANOS_PER_SECOND)
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
export function retryDelayMs(
  limit: EarnedBackLimit,
  price: Price,
  earnedBack: Readonly<Instant>,
  now: Readonly<Instant>,
): number {
  const slackNs = price.cost > limit.count ? 0 : limit.windowSeconds * NANOS_PER_SECOND - price.ceilNs
  return msUntil(earnedBack, now, slackNs)
}

/** The largest cost, at most the count, that would be admitted to a caller with this debt. */
export function remainingUnits(limit: EarnedBackLimit, debt: number): number {
  const windowNs = limit.windowSeconds * NANOS_PER_SECOND
  if (debt >= windowNs) return 0
  return Number((BigInt(windowNs - debt) * BigInt(limit.count)) / BigInt(windowNs))
}
