import type { HeldSpend, MemoryLedger } from '../ledger/memory-ledger.ts'

/** Something that counts against its bounds until it is released: what a request or a stream keeps open. */
export interface Hold {
  /** Gives it back. Calls after the first do nothing. */
  release(): void
}

/** Units that are reserved: until they are committed or released they count in full, and are not earned back. */
export class Reservation implements Hold {
  readonly #ledger: MemoryLedger
  readonly #held: HeldSpend
  #isOpen = true
  /** @internal To be called once it is committed or released. */
  onClose: (() => void) | undefined

  /** @internal */
  constructor(ledger: MemoryLedger, held: HeldSpend) {
    this.#ledger = ledger
    this.#held = held
  }

  /** @internal Whether nothing is reserved, because nothing bounds it. */
  get isEmpty(): boolean {
    return this.#held.accounts.length === 0
  }

  /**
   * Spends what is reserved, now: it is earned back from now on.
   * @returns whether it was; false: it is released or committed already, as by the end of the response that it was made for.
   */
  commit(): boolean {
    if (!this.#isOpen) return false
    this.#ledger.commit(this.#held)
    this.#close()
    return true
  }

  /** Gives back what is reserved, as if it had never been. Once it is committed or released, this does nothing. */
  release(): void {
    if (!this.#isOpen) return
    this.#ledger.release(this.#held)
    this.#close()
  }

  #close(): void {
    this.#isOpen = false
    this.onClose?.()
  }
}
