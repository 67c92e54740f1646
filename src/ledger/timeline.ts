import type { Clock } from '../clock/clock.ts'
import type { Instant } from '../limit/instant.ts'
import { LATEST_INSTANT, NANOS_PER_SECOND } from '../limit/instant.ts'

/** A ledger's own time: what its clock says, counted from when the ledger was made, never going back. */
export class Timeline {
  readonly #clock: Clock
  readonly #start: bigint
  readonly #startInstant: Instant = { seconds: 0, nanos: 0 }
  readonly #reading: Instant = { seconds: 0, nanos: 0 }
  readonly #now: Instant = { seconds: 0, nanos: 0 }

  constructor(clock: Clock) {
    this.#clock = clock
    this.#start = clock.now()
    clock.readInto?.(this.#startInstant)
  }

  /** The time now. The same object each time, overwritten by the next call. */
  read(): Readonly<Instant> {
    const now = this.#now
    let seconds: number
    let nanos: number
    if (this.#clock.readInto !== undefined) {
      this.#clock.readInto(this.#reading)
      seconds = this.#reading.seconds - this.#startInstant.seconds
      nanos = this.#reading.nanos - this.#startInstant.nanos
      if (nanos < 0) {
        nanos += NANOS_PER_SECOND
        seconds -= 1
      }
    } else {
      const ns = this.#clock.now() - this.#start
      const whole = ns / 1_000_000_000n
      seconds = Number(whole)
      nanos = Number(ns - whole * 1_000_000_000n)
    }
    if (seconds > LATEST_INSTANT.seconds) {
      seconds = LATEST_INSTANT.seconds
      nanos = LATEST_INSTANT.nanos
    }
    // A clock that went back stands still, as does one set to before the ledger's start (whose parts are negative).
    if (seconds > now.seconds || (seconds === now.seconds && nanos > now.nanos)) {
      now.seconds = seconds
      now.nanos = nanos
    }
    return now
  }
}
