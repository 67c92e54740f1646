import type { Clock } from '../clock/clock.ts'
import type { Instant } from '../limit/instant.ts'
import { isLater, LATEST_INSTANT, NANOS_PER_SECOND } from '../limit/instant.ts'

/** A ledger's own time: what its clock says, counted from when the ledger was made, never going back. */
export class Timeline {
  readonly #clock: Clock
  readonly #start: bigint
  readonly #startInstant: Instant = { seconds: 0, nanos: 0 }
  readonly #elapsed: Instant = { seconds: 0, nanos: 0 }
  readonly #now: Instant = { seconds: 0, nanos: 0 }

  constructor(clock: Clock) {
    this.#clock = clock
    this.#start = clock.now()
    clock.readInto?.(this.#startInstant)
  }

  /** The time now. The same object each time, overwritten by the next call. */
  read(): Readonly<Instant> {
    const now = this.#now
    const elapsed = this.#elapsed
    if (this.#clock.readInto === undefined) {
      this.#splitInto(elapsed)
    } else {
      this.#clock.readInto(elapsed)
      elapsed.seconds -= this.#startInstant.seconds
      elapsed.nanos -= this.#startInstant.nanos
      if (elapsed.nanos < 0) {
        elapsed.nanos += NANOS_PER_SECOND
        elapsed.seconds -= 1
      }
    }
    // A clock that went back stands still, as does one set to before the ledger's start (whose parts are negative).
    if (isLater(elapsed, now)) {
      now.seconds = elapsed.seconds
      now.nanos = elapsed.nanos
      if (now.seconds > LATEST_INSTANT.seconds) Object.assign(now, LATEST_INSTANT)
    }
    return now
  }

  #splitInto(elapsed: Instant): void {
    const ns = this.#clock.now() - this.#start
    const whole = ns / 1_000_000_000n
    elapsed.seconds = Number(whole)
    elapsed.nanos = Number(ns - whole * 1_000_000_000n)
  }
}
