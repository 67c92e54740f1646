import type { Clock } from '../clock/clock.ts'

/** A catch-up read that waits for its turn. */
export interface WaitingRead {
  /** It is paid for. */
  start(): void
  /** The stream has ended before its turn. */
  fail(reason: unknown): void
}

/** The wait after a denial that cannot say how long, in ms. */
const UNKNOWN_DELAY_MS = 1000
const NS_PER_MS = 1_000_000n

/**
 * The catch-up reads of one stream, paid for in their order, one spend each. After a denial none of them is tried again
 * before the retry delay has passed (RATE-033); only then is there a timer.
 */
export class CatchUpReads {
  readonly #clock: Clock
  readonly #spend: () => { readonly retryDelayMs: number | null } | undefined
  readonly #waiting: WaitingRead[] = []
  #cancel: (() => void) | undefined
  #isTrying = false

  /** `spend` pays for one read, or says how long to wait. */
  constructor(clock: Clock, spend: () => { readonly retryDelayMs: number | null } | undefined) {
    this.#clock = clock
    this.#spend = spend
  }

  add(read: WaitingRead): void {
    this.#waiting.push(read)
    // Whoever is told of a denial may add another.
    if (this.#cancel === undefined && !this.#isTrying) this.#tryAll()
  }

  /** Fails those that wait. */
  stop(reason: unknown): void {
    this.#cancel?.()
    this.#cancel = undefined
    for (const read of this.#waiting.splice(0)) read.fail(reason)
  }

  #tryAll(): void {
    while (this.#waiting.length > 0) {
      this.#isTrying = true
      const denial = this.#spend()
      this.#isTrying = false
      // Whoever was told of the denial may have ended the stream.
      if (this.#waiting.length === 0) return
      if (denial === undefined) {
        this.#waiting.shift()!.start()
        continue
      }
      const delayNs = BigInt(denial.retryDelayMs ?? UNKNOWN_DELAY_MS) * NS_PER_MS
      this.#cancel = this.#clock.schedule(this.#clock.now() + delayNs, () => {
        this.#cancel = undefined
        this.#tryAll()
      })
      return
    }
  }
}
