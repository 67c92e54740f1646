/** A point in time, split so that both parts stay exact in a double: whole seconds, and 0 … 999,999,999 ns. */
export interface Instant {
  seconds: number
  nanos: number
}

export const NANOS_PER_SECOND = 1_000_000_000
