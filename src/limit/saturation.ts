import type { Instant } from './instant.ts'
import { LATEST_INSTANT, msUntil } from './instant.ts'

/** Whether `now` is where time stops. Nothing counts there, since it would count for ever. */
export function isLatest(now: Readonly<Instant>): boolean {
  return now.seconds === LATEST_INSTANT.seconds && now.nanos === LATEST_INSTANT.nanos
}

/** Milliseconds, rounded up, until `slackNs` (at most one window) before an instant, or until time stops if that is sooner. */
export function msUntilOrLatest(seconds: number, nanos: number, now: Readonly<Instant>, slackNs = 0): number {
  return Math.min(msUntil({ seconds, nanos }, now, slackNs), msUntil(LATEST_INSTANT, now))
}
