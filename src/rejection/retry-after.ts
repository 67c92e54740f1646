/** A delay as `Retry-After` says it (RFC 9110, section 10.2.3): whole seconds, rounded up, never 0. */
export function retryAfterSeconds(delayMs: number): number {
  return Math.max(1, Math.ceil(delayMs / 1000))
}
