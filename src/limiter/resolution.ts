import type { Caller } from '../caller/caller.ts'
import type { Account } from '../ledger/account.ts'
import type { Attributes, Identified, Origin } from '../policy/bound-key.ts'

const NO_ATTRIBUTES: Attributes = Object.freeze({})
const NONE: readonly Account[] = Object.freeze([])
const NOWHERE: Origin = Object.freeze({})

/** What bounds go by of a resolved caller, and the accounts that its spends concern, found once for each category. */
export class Resolution {
  readonly who: Identified
  readonly origin: Origin
  /** The category that was asked for last, which is mostly asked for again, and its accounts. */
  #category = -1
  #accounts: readonly Account[] = NONE
  /** Those of others. */
  #others: Map<number, readonly Account[]> | undefined

  constructor(caller: Caller, attributes = NO_ATTRIBUTES, origin = NOWHERE) {
    this.who = { caller, attributes }
    this.origin = origin
  }

  /** The accounts of a category; undefined, if they were not kept. */
  accountsOf(category: number): readonly Account[] | undefined {
    return category === this.#category ? this.#accounts : this.#others?.get(category)
  }

  /** Keeps the accounts of a category. */
  keep(category: number, accounts: readonly Account[]): void {
    if (this.#category !== -1) {
      this.#others ??= new Map()
      this.#others.set(this.#category, this.#accounts)
    }
    this.#category = category
    this.#accounts = accounts
  }
}
