import type { Caller } from '../caller/caller.ts'
import type { Account } from '../ledger/memory-ledger.ts'
import type { Attributes, Identified, Origin } from '../policy/bound-key.ts'

const NO_ATTRIBUTES: Attributes = Object.freeze({})
const NOWHERE: Origin = Object.freeze({})

/** What bounds go by of a resolved caller, and the accounts that its spends concern, found once for each category. */
export class Resolution {
  readonly who: Identified
  readonly origin: Origin
  #accounts: (readonly Account[] | undefined)[] | undefined

  constructor(caller: Caller, attributes = NO_ATTRIBUTES, origin = NOWHERE) {
    this.who = { caller, attributes }
    this.origin = origin
  }

  /** The accounts of a category, which `find` finds. */
  accounts(category: number, find: () => readonly Account[]): readonly Account[] {
    this.#accounts ??= []
    this.#accounts[category] ??= find()
    return this.#accounts[category]
  }
}
