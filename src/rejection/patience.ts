import type { Clock } from '../clock/clock.ts'

/** How long a server waits for clients that it has refused: no longer than `timeoutMs` for each, and not at all once it closes. */
export class Patience {
  readonly #timeoutNs: bigint
  readonly #clock: Clock
  readonly #waits = new Set<() => void>()
  #isOver = false

  constructor(timeoutMs: number, clock: Clock) {
    this.#timeoutNs = BigInt(timeoutMs) * 1_000_000n
    this.#clock = clock
  }

  /** Calls `giveUp` when the time is up or the server closes, unless the function that it returns was called before. */
  wait(giveUp: () => void): () => void {
    if (this.#isOver) {
      const immediate = setImmediate(giveUp)
      return () => clearImmediate(immediate)
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
    this.#isOver = true
    for (const end of [...this.#waits]) end()
  }
}
