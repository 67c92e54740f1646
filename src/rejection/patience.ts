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

  /** Calls `giveUp` when the time is up or the server closes, unless the function that it returns was called before. */
  wait(giveUp: () => void): () => void {
    if (this.#isClosing) {
      const timer = setTimeout(giveUp, CLOSING_MS)
      return () => clearTimeout(timer)
    }
    const end = () => {
      stop()
      giveUp()
    }
    const cancel = this.#clock.schedule(this.#clock.now() + this.#timeoutNs, end)
    const stop = () => {
      cancel()
      this.#waits.delete(end)
    }
    this.#waits.add(end)
    return stop
  }

  /** The server closes: gives up whatever is waited for. */
  end(): void {
    this.#isClosing = true
    for (const end of [...this.#waits]) end()
  }
}
