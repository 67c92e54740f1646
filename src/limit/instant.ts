/** A point in time, split so that both parts stay exact in a double: whole seconds, and 0 … 999,999,999 ns. */
export interface Instant {
  seconds: number
  nanos: number
}

export const NANOS_PER_SECOND = 1_000_000_000

/** Instants stop here, 2³⁴ s (about 544 years) after the ledger started: what would be earned back later is taken to be then. */
export const LATEST_INSTANT: Readonly<Instant> = { seconds: 2 ** 34 - 1, nanos: NANOS_PER_SECOND - 1 }

/** Milliseconds, rounded up, until `slackNs` before `instant`; 0 when that is past. */
export function msUntil(instant: Readonly<Instant>, now: Readonly<Instant>, slackNs = 0): number {
  const ns = instant.nanos - now.nanos - slackNs
  return Math.max(0, (instant.seconds - now.seconds) * 1000 + Math.ceil(ns / 1e6))
}

export function isLater(one: Readonly<Instant>, than: Readonly<Instant>): boolean {
  return one.seconds > than.seconds || (one.seconds === than.seconds && one.nanos > than.nanos)
}
