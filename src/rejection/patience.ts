import type { Clock } from '../clock/clock.ts'

/** What is left to the clients that are waited for when the server closes, in real ms: time for an answer to be read. */
const CLOSING_MS = 500

/** How long a server waits for clients that it is done with: no longer than `timeoutMs` for each, and hardly at all once it closes. */
export class Patience {
  readonly #timeoutNs: bigint
  readonly #clock: Clock
  readonly #waits = new Set<() => void>()
  #isClosing = false

  constructor(timeoutMs: number, clock: Clock) {
    this.#timeoutNs = BigInt(timeoutMs) * 1_000_000n
    this.#clock = clock
  }

  /** Whether the server closes. */
  get isClosing(): boolean {
    return this.#isClosing
  }

  /**
   * Calls `giveUp` when the time is up, unless the function that it returns was called before. When the server closes, the time
   * is as good as up.
   * @param atClose How soon then: `now`, where an answer is yet to be written.
   */
  wait(giveUp: () => void, atClose: 'now' | 'soon' = 'soon'): () => void {
    const soon = () => {
      const timer = setTimeout(giveUp, CLOSING_MS)
      return () => clearTimeout(timer)
    }
    if (this.#isClosing) return soon()

    let cancel = this.#clock.schedule(this.#clock.now() + this.#timeoutNs, () => {
      this.#waits.delete(close)
      giveUp()
    })
    const close = () => {
      cancel()
      if (atClose === 'now') giveUp()
      else cancel = soon()
    }
    this.#waits.add(close)
    return () => {
      this.#waits.delete(close)
      cancel()
    }
  }

  /** The server closes. */
  end(): void {
    this.#isClosing = true
    const waits = [...this.#waits]
    this.#waits.clear()
    for (const close of waits) close()
  }
}
