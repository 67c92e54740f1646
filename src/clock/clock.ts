import type { Instant } from '../limit/instant.ts'

/**
 * Where the time comes from. Every decision is made in whole nanoseconds of one such clock. A clock that goes back is
 * treated as standing still.
 */
export interface Clock {
  /** Nanoseconds since an arbitrary zero of the clock's own. Must not go back. */
  now(): bigint

  /** Milliseconds since the Unix epoch: only for timestamps that people see and for epochs, never for a decision. */
  wall(): number

  /**
   * Runs `run` once, when `now()` has reached `at`: never before it, possibly later. Returns a function that cancels it.
   */
  schedule(at: bigint, run: () => void): () => void

  /**
   * The same reading as `now()`, written into `instant`, so that the hot path allocates no bigint. Optional: without it
   * `now()` is used.
   */
  readInto?(instant: Instant): void
}
