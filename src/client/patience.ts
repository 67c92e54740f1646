import { type ClientClock, clientClock, waitUntil } from './clock.ts'
import { type Rejection, rejectionOf } from './rejection.ts'
import type { RetryOptions, Wait } from './retry-options.ts'

const MAX_BACKOFF_MS = 10_000

/** How much more one call, or one run of reopened streams, waits. */
export class Patience {
  readonly #clock: ClientClock
  readonly #options: RetryOptions
  readonly #signal: AbortSignal
  readonly #deadline: number
  readonly #onWait: (wait: Wait) => void
  #tries = 0
  #waitedMs = 0
  #backoffs = 0

  /** @param deadline On the client's clock. */
  constructor(options: RetryOptions, signal: AbortSignal, deadline: number, onWait: (wait: Wait) => void) {
    this.#clock = options.clock ?? clientClock
    this.#options = options
    this.#signal = signal
    this.#deadline = deadline
    this.#onWait = onWait
  }

  /** Things go on: tries and waiting start anew. The backoff does not, or what fails after a greeting would be hammered. */
  renew(): void {
    this.#tries = 0
    this.#waitedMs = 0
  }

  /**
   * Waits until what failed with `error` may be tried again.
   * @throws `error` itself when it is not to be tried again; a ConnectError when the signal ends the wait.
   */
  async afterFailure(error: unknown): Promise<void> {
    const { domain, maxTries = 3, backoffMs = 100 } = this.#options
    const now = this.#clock.now()
    const rejection = rejectionOf(error, domain)
    this.#tries += 1
    if (rejection === undefined || this.#tries >= maxTries) throw error

    let delayMs = rejection.retryDelayMs || 0
    if (delayMs > 0) this.#backoffs = 0
    else delayMs = Math.min(backoffMs * 2 ** this.#backoffs++, Math.max(backoffMs, MAX_BACKOFF_MS))
    if (!(await this.wait(now + delayMs, rejection))) throw error
  }

  /**
   * Waits until `at` or a little longer. Returns false at once when there is no time for that.
   * @throws ConnectError when the signal ends the wait.
   */
  async wait(at: number, rejection: Rejection): Promise<boolean> {
    const { maxWaitMs = 60_000, jitterMs } = this.#options
    const now = this.#clock.now()
    const leastMs = at - now
    const spareMs = Math.min(maxWaitMs - this.#waitedMs, this.#deadline - now) - leastMs
    if (spareMs < 0) return false
    const waitMs = leastMs + Math.random() * Math.min(jitterMs ?? Math.min(leastMs / 10, 1000), spareMs)
    this.#onWait({ rejection, waitMs, tries: this.#tries })
    await waitUntil(now + waitMs, this.#clock, this.#signal)
    this.#waitedMs += this.#clock.now() - now
    return true
  }
}
