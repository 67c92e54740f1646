import type { Account } from './account.ts'
import { emptyFingerprint, type FingerprintBuffer } from './fingerprint.ts'
import type { Meter } from './meter.ts'
import { TableMeter } from './table-meter.ts'

const NONE = { meter: undefined, print: emptyFingerprint() }

/**
 * The accounts that a spend concerns. The first three, which mostly are all, are also written into the object itself: for somebody
 * who has not spent for a while, each further object is a wait for memory.
 */
export class AccountList {
  readonly length: number
  /** Whether all that is spent in these accounts is remembered in tables. */
  readonly isInTables: boolean
  readonly #meter0: Meter | undefined
  readonly #a0: number
  readonly #b0: number
  readonly #c0: number
  readonly #d0: number
  readonly #meter1: Meter | undefined
  readonly #a1: number
  readonly #b1: number
  readonly #c1: number
  readonly #d1: number
  readonly #meter2: Meter | undefined
  readonly #a2: number
  readonly #b2: number
  readonly #c2: number
  readonly #d2: number
  /** One by one. */
  readonly all: readonly Account[]

  constructor(accounts: readonly Account[]) {
    this.length = accounts.length
    this.isInTables = accounts.every(({ meter }) => meter instanceof TableMeter)
    const [first = NONE, second = NONE, third = NONE] = accounts
    this.#meter0 = first.meter
    this.#a0 = first.print.a
    this.#b0 = first.print.b
    this.#c0 = first.print.c
    this.#d0 = first.print.d
    this.#meter1 = second.meter
    this.#a1 = second.print.a
    this.#b1 = second.print.b
    this.#c1 = second.print.c
    this.#d1 = second.print.d
    this.#meter2 = third.meter
    this.#a2 = third.print.a
    this.#b2 = third.print.b
    this.#c2 = third.print.c
    this.#d2 = third.print.d
    this.all = accounts
  }

  /** The meter of account number `i`. */
  meter(i: number): Meter {
    if (i === 0) return this.#meter0!
    if (i === 1) return this.#meter1!
    return i === 2 ? this.#meter2! : this.all[i]!.meter
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
        Object.assign(print, this.all[i]!.print)
    }
  }
}
