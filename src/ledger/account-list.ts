import type { Account } from './account.ts'
import { emptyFingerprint, type FingerprintBuffer } from './fingerprint.ts'
import type { Meter } from './meter.ts'
import { TableMeter } from './table-meter.ts'

/** Accounts that are written into the object itself. */
const INLINE = 3

/**
 * The accounts that a spend concerns, as many as there mostly are in one object: for somebody who has not spent for a while,
 * each object more is a wait for memory, and each of them would lie elsewhere.
 */
export class AccountList {
  readonly length: number
  /** Whether all that is spent in these accounts is remembered in tables. */
  readonly isInTables: boolean
  #bound0 = ''
  #meter0: Meter | undefined
  #a0 = 0
  #b0 = 0
  #c0 = 0
  #d0 = 0
  #meter1: Meter | undefined
  #a1 = 0
  #b1 = 0
  #c1 = 0
  #d1 = 0
  #meter2: Meter | undefined
  #a2 = 0
  #b2 = 0
  #c2 = 0
  #d2 = 0
  #bound1 = ''
  #bound2 = ''
  readonly #further: readonly Account[]

  constructor(accounts: readonly Account[]) {
    this.length = accounts.length
    this.isInTables = accounts.every(({ meter }) => meter instanceof TableMeter)
    const [first, second, third] = accounts
    if (first !== undefined) {
      const { bound, meter, print } = first
      this.#bound0 = bound
      this.#meter0 = meter
      this.#a0 = print.a
      this.#b0 = print.b
      this.#c0 = print.c
      this.#d0 = print.d
    }
    if (second !== undefined) {
      const { bound, meter, print } = second
      this.#bound1 = bound
      this.#meter1 = meter
      this.#a1 = print.a
      this.#b1 = print.b
      this.#c1 = print.c
      this.#d1 = print.d
    }
    if (third !== undefined) {
      const { bound, meter, print } = third
      this.#bound2 = bound
      this.#meter2 = meter
      this.#a2 = print.a
      this.#b2 = print.b
      this.#c2 = print.c
      this.#d2 = print.d
    }
    this.#further = accounts.slice(INLINE)
  }

  /** The meter of account number `i`. */
  meter(i: number): Meter {
    if (i === 0) return this.#meter0!
    if (i === 1) return this.#meter1!
    return i === 2 ? this.#meter2! : this.#further[i - INLINE]!.meter
  }

  /** Writes the fingerprint of account number `i` into `print`. */
  printInto(print: FingerprintBuffer, i: number): void {
    switch (i) {
      case 0:
        print.a = this.#a0
        print.b = this.#b0
        print.c = this.#c0
        print.d = this.#d0
        break
      case 1:
        print.a = this.#a1
        print.b = this.#b1
        print.c = this.#c1
        print.d = this.#d1
        break
      case 2:
        print.a = this.#a2
        print.b = this.#b2
        print.c = this.#c2
        print.d = this.#d2
        break
      default:
        Object.assign(print, this.#further[i - INLINE]!.print)
    }
  }

  /** One by one, in objects of their own. */
  all(): Account[] {
    const bounds = [this.#bound0, this.#bound1, this.#bound2]
    const inline = bounds.slice(0, this.length).map((bound, i) => {
      const print = emptyFingerprint()
      this.printInto(print, i)
      return { bound, meter: this.meter(i), print }
    })
    return [...inline, ...this.#further]
  }
}
