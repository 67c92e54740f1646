import type { Account } from '../ledger/account.ts'
import { AccountList } from '../ledger/account-list.ts'
import type { Origin } from '../policy/bound-key.ts'
import type { BoundSet } from './bound-set.ts'
import type { CallerMeters } from './caller-meters.ts'
import { keepAccounts, keptAccounts, ownAccounts, type ResolvedCaller, resolutionOf } from './resolved-caller.ts'

/** Says what a spend in a category concerns: the caller's own limits, the bounds of the limiter, and those of a route. */
export class AccountFinder {
  readonly #callerMeters: CallerMeters
  readonly #bounds: BoundSet

  /** @param bounds Those of the limiter. */
  constructor(callerMeters: CallerMeters, bounds: BoundSet) {
    this.#callerMeters = callerMeters
    this.#bounds = bounds
  }

  /** Whether there is more than the caller's own limits, off every route. */
  hasBounds(category: number): boolean {
    return this.#bounds.isAbout(category)
  }

  /** The accounts off every route, found once for a caller and category: the caller's own accounts first. */
  listOf(caller: ResolvedCaller, category: number): AccountList {
    return keptAccounts(caller, category) ?? this.#find(caller, category)
  }

  /** The accounts on a route. */
  of(caller: ResolvedCaller, category: number, ofRoute: readonly BoundSet[]): readonly Account[] {
    const { origin, who } = resolutionOf(caller)
    const own = this.listOf(caller, category).all
    if (ofRoute.length === 0) return own
    return [...own, ...ofRoute.flatMap((bounds) => bounds.accounts(category, 'all', origin, who))]
  }

  /** The accounts on a route that need no identity. */
  beforeIdentity(origin: Origin, category: number, ofRoute: readonly BoundSet[]): Account[] {
    return this.#sets(ofRoute).flatMap((bounds) => bounds.accounts(category, 'before identity', origin, undefined))
  }

  /** The accounts on a route that need one. */
  afterIdentity(caller: ResolvedCaller, category: number, ofRoute: readonly BoundSet[]): Account[] {
    const { origin, who } = resolutionOf(caller)
    const rest = (bounds: BoundSet) => bounds.accounts(category, 'after identity', origin, who)
    return [...ownAccounts(caller, category), ...this.#sets(ofRoute).flatMap(rest)]
  }

  /** Whether a spend needs an identity. */
  needsIdentity(category: number, ofRoute: readonly BoundSet[]): boolean {
    return (
      this.#callerMeters.hasLimits(category) || this.#sets(ofRoute).some((bounds) => bounds.needsIdentity(category))
    )
  }

  /** Whether anybody's spends are bounded. */
  isAnybodyBounded(category: number, ofRoute: readonly BoundSet[]): boolean {
    return this.#callerMeters.hasLimits(category) || this.#sets(ofRoute).some((bounds) => bounds.isAbout(category))
  }

  /** Whether everybody's are. */
  isEverybodyBounded(category: number, ofRoute: readonly BoundSet[]): boolean {
    return (
      this.#callerMeters.limitEverybody(category) ||
      this.#sets(ofRoute).some((bounds) => bounds.boundsEverybody(category))
    )
  }

  /** The names of all bounds. */
  boundNames(ofRoute: readonly BoundSet[]): string[] {
    return this.#sets(ofRoute).flatMap(({ names }) => names)
  }

  #find(caller: ResolvedCaller, category: number): AccountList {
    const { origin, who } = resolutionOf(caller)
    const ofBounds = this.#bounds.accounts(category, 'all', origin, who)
    const found = new AccountList([...ownAccounts(caller, category), ...ofBounds])
    keepAccounts(caller, category, found)
    return found
  }

  #sets(ofRoute: readonly BoundSet[]): readonly BoundSet[] {
    return [this.#bounds, ...ofRoute]
  }
}
