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
  /** Those of the others. */
  #others: (readonly Account[] | undefined)[] | undefined

  constructor(caller: Caller, attributes = NO_ATTRIBUTES, origin = NOWHERE) {
    this.who = { caller, attributes }
    this.origin = origin
  }

  /** The accounts of a category, which `find` finds. */
  accounts(category: number, find: () => readonly Account[]): readonly Account[] {
    if (category !== this.#category) {
      const known = this.#others?.[category]
      if (this.#category !== -1) {
        this.#others ??= []
        this.#others[this.#category] = this.#accounts
      }
      this.#accounts = known ?? find()
      this.#category = category
    }
    return this.#accounts
  }
}
