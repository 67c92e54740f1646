import type { Fingerprint } from '../ledger/fingerprint.ts'
import type { Account } from '../ledger/memory-ledger.ts'
import type { Identified, Origin } from '../policy/bound-key.ts'
import { CALLER_BOUND } from '../policy/target.ts'
import type { BoundSet } from './bound-set.ts'
import type { MeterTable } from './caller-meters.ts'

/** What was worked out of a caller: which accounts a spend concerns, found once for each category. */
export class Resolution {
  /** Which limiter it is for. */
  readonly limiter: object
  readonly who: Identified
  readonly origin: Origin
  readonly meters: MeterTable
  readonly print: Fingerprint
  readonly #bounds: BoundSet
  /** Made when it is first needed: most spends are in the caller's own limits only. */
  #accounts: (readonly Account[] | undefined)[] | undefined

  constructor(
    limiter: object,
    who: Identified,
    origin: Origin,
    meters: MeterTable,
    print: Fingerprint,
    bounds: BoundSet,
  ) {
    this.limiter = limiter
    this.who = who
    this.origin = origin
    this.meters = meters
    this.print = print
    this.#bounds = bounds
  }

  /** What a spend concerns: the caller's limits first, and then the bounds of the limiter. */
  accounts(category: number): readonly Account[] {
    this.#accounts ??= []
    const known = this.#accounts[category]
    if (known !== undefined) return known
    const found = [...this.own(category), ...this.#bounds.accounts(category, 'all', this.origin, this.who)]
    this.#accounts[category] = found
    return found
  }

  /** The caller's own limits only. */
  own(category: number): Account[] {
    const meter = this.meters[category]
    return meter === undefined ? [] : [{ bound: CALLER_BOUND, meter, print: this.print }]
  }
}
