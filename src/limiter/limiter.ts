import { z } from 'zod'
import type { Caller } from '../caller/caller.ts'
import { readCaller } from '../caller/caller.ts'
import type { Clock } from '../clock/clock.ts'
import { systemClock } from '../clock/system-clock.ts'
import type { Account } from '../ledger/account.ts'
import type { AccountList } from '../ledger/account-list.ts'
import { emptyFingerprint, type FingerprintBuffer } from '../ledger/fingerprint.ts'
import { MemoryLedger, type Part } from '../ledger/memory-ledger.ts'
import type { Meter } from '../ledger/meter.ts'
import { type Attributes, attributesOf, type Origin } from '../policy/bound-key.ts'
import type { BoundOptions, HoldOptions } from '../policy/bound-options.ts'
import { type Bound, parseBounds } from '../policy/bounds.ts'
import { clockOption } from '../policy/clock-option.ts'
import { parseHolds } from '../policy/holds.ts'
import { optionsObject, parseOptions } from '../policy/option-schema.ts'
import type { RateLimitsOptions } from '../policy/options.ts'
import type { Policy } from '../policy/policy.ts'
import { createPolicy } from '../policy/policy.ts'
import { parseRateLimits } from '../policy/rate-limits.ts'
import { CALLER_BOUND } from '../policy/target.ts'
import { AccountFinder } from './account-finder.ts'
import { type BoundSet, countBounds, countHolds } from './bound-set.ts'
import { CallerMeters } from './caller-meters.ts'
import { callerPrintInto } from './caller-print.ts'
import {
  type Denial,
  denialOf,
  type HoldResult,
  longest,
  type RemainingUnits,
  type ReserveResult,
  type SpendResult,
} from './denial.ts'
import { Reservation } from './reservation.ts'
import { limiterOf, metersOf, printInto, type ResolvedCaller, resolutionOf, resolvedCaller } from './resolved-caller.ts'

export type { ResolvedCaller } from './resolved-caller.ts'

/** What bounds go by beside the caller. All of it is needed only by bounds that ask for it. */
export interface ResolveContext extends Attributes, Origin {}

/** Options of `createLimiter`. */
export interface LimiterOptions {
  /** Limits, by category and by caller. Default: the built-in categories and their limits. */
  rateLimits?: RateLimitsOptions | undefined
  /** Limits per something else than the caller, which a spend must fit as well. Default: none. */
  // biome-ignore lint/suspicious/noExplicitAny: whatever is given to `resolve` as the request
  bounds?: readonly BoundOptions<any>[] | undefined
  /** What can be held, and how many of it. Default: none. */
  // biome-ignore lint/suspicious/noExplicitAny: whatever is given to `resolve` as the request
  holds?: readonly HoldOptions<any>[] | undefined
  /** Where the time comes from. Default: `systemClock`. */
  clock?: Clock | undefined
}

const optionsSchema = optionsObject({
  rateLimits: z.unknown().optional(),
  bounds: z.unknown().default([]),
  holds: z.unknown().default([]),
  clock: clockOption().optional(),
})

const ADMITTED: SpendResult = Object.freeze({ admitted: true })
const MIB = 1024 * 1024

/**
 * Makes a limiter, which knows the limits of every caller and what each has spent. It needs no Fastify: use it for jobs,
 * queues, or, as the plugin's `limiter` option, for several servers that share one allowance.
 * @throws AllowanceOptionsError when an option is wrong; it lists every mistake with its path.
 */
export function createLimiter(options: LimiterOptions = {}): Limiter {
  const { rateLimits, bounds, holds, clock } = parseOptions(optionsSchema, options, 'options')
  return new Limiter(createPolicy(parseRateLimits(rateLimits)), bounds, holds, clock ?? systemClock)
}

/** What `createLimiter` makes. All of its calls are synchronous and exact to the nanosecond of its clock. */
export class Limiter {
  readonly #ledger: MemoryLedger
  readonly #callerMeters: CallerMeters
  readonly #holds: BoundSet
  /** The category that was asked for last, which is mostly asked for again. */
  #lastCategory: string
  #lastId = 0
  /** Of whoever spends now: nothing keeps it. */
  readonly #print: FingerprintBuffer = emptyFingerprint()
  /** @internal */
  readonly policy: Policy
  /** @internal */
  readonly clock: Clock
  /** @internal */
  readonly accounts: AccountFinder

  /** @internal Use `createLimiter`. */
  constructor(policy: Policy, bounds: unknown, holds: unknown, clock: Clock) {
    this.policy = policy
    this.clock = clock
    this.#lastCategory = policy.categories[0]!
    this.#ledger = new MemoryLedger(policy.maxMemoryMib * MIB, policy.boundsMemoryMib * MIB, clock)
    this.#callerMeters = new CallerMeters(policy, this.#ledger)
    const ofLimiter = this.count(this.#parse(bounds), 'bounds', 'first')
    this.accounts = new AccountFinder(this.#callerMeters, ofLimiter)
    this.#holds = countHolds(parseHolds(holds, 'holds'), this.#ledger, 'holds')
  }

  /**
   * Spends `cost` units of `category`: charged against every limit that applies to the caller, or denied and charged
   * against none (RATE-020, 022). With `enabled: false` everything is admitted.
   * @param cost A whole number from 0 to 2⁵³ − 1. 0 is always admitted.
   * @throws RangeError when the category is not declared or the cost is not such a number; TypeError when `caller` is
   * none, or a bound goes by something that it was resolved without. Nothing is charged then.
   */
  spend(caller: Caller, category: string, cost: number): SpendResult {
    const id = this.categoryId(category)
    const denial = this.#isResolved(caller) ? this.spendIn(caller, id, cost) : this.#spendUnresolved(caller, id, cost)
    return denial === undefined ? ADMITTED : { admitted: false, denial }
  }

  /**
   * Takes the room for `cost` units of `category` now, to be spent or given back later: a reservation that is open counts in
   * full against every limit that applies, and is not earned back. It must be committed or released.
   * @throws as `spend` does.
   */
  reserve(caller: Caller, category: string, cost: number): ReserveResult {
    const id = this.categoryId(category)
    const made = this.reserveIn(this.#accountsOf(caller, id), id, cost)
    return made instanceof Reservation ? { admitted: true, reservation: made } : { admitted: false, denial: made }
  }

  /**
   * Takes one of the places of a hold, to be released when what it is for ends.
   * @throws RangeError when no such hold is declared; TypeError as `spend` does.
   */
  hold(caller: Caller, name: string): HoldResult {
    const resolved = this.resolve(caller)
    const made = this.holdFor(name, resolutionOf(resolved).origin, resolved)
    return made instanceof Reservation ? { admitted: true, hold: made } : { admitted: false, denial: made }
  }

  /**
   * The ms after which this spend would be admitted if nothing else were spent until then; 0: it would be admitted now.
   * null: it cannot be said when, or never. Charges nothing, and throws as `spend` does.
   */
  retryDelay(caller: Caller, category: string, cost: number): number | null {
    checkCost(cost)
    const id = this.categoryId(category)
    const accounts = this.#accountsOf(caller, id)
    if (!this.policy.enabled) return 0
    const exceeded = this.#ledger.check(accounts, cost)
    return exceeded === undefined ? 0 : longest(exceeded)
  }

  /**
   * What is left to the caller in a category, one entry for each limit, in the order of their declaration; empty when
   * everything is admitted. Charges nothing, and throws as `spend` does.
   */
  remaining(caller: Caller, category: string): RemainingUnits[] {
    const id = this.categoryId(category)
    return this.remainingIn(this.#accountsOf(caller, id))
  }

  /**
   * The caller with its key and limits worked out once, to be used wherever a caller is. Worth keeping for as long as
   * the caller is busy.
   * @param context What bounds go by beside the caller. Default: nothing, or what the caller was resolved with before.
   * @throws TypeError when `caller` is not an identity.
   */
  resolve(caller: Caller, context?: ResolveContext): ResolvedCaller {
    if (context !== undefined) {
      const { address, route, request } = context
      return this.resolveAt(caller, attributesOf(context), { address, route, request })
    }
    if (this.#isResolved(caller)) return caller
    const byAnother = isObject(caller) && limiterOf(caller) !== undefined
    const known = byAnother ? resolutionOf(caller as ResolvedCaller) : undefined
    return this.resolveAt(caller, known?.who.attributes, known?.origin)
  }

  /**
   * Makes bounds with counters of their own, for routes that are chosen, or changed, while the app runs; to be returned by
   * the `bounds` of a route's `config.allowance`. Their memory is taken now, of what is kept
   * as `rateLimits.boundsMemoryMib`; before the first spend also of what the table has not taken yet.
   * @throws AllowanceOptionsError when a bound is wrong, or there is no room for what it must remember.
   */
  // biome-ignore lint/suspicious/noExplicitAny: whatever is given to `resolve` as the request
  bounds(bounds: readonly BoundOptions<any>[]): BoundSet {
    return this.count(this.#parse(bounds), 'bounds', 'kept')
  }

  /**
   * `slots`: how many callers × categories the table can remember at a time; `bytes`: the memory that all takes, allocated;
   * `forgotten`: how often a caller's spends were forgotten before they were earned back, for want of room (RATE-051).
   */
  stats(): { slots: number; bytes: number; forgotten: number } {
    return this.#ledger.stats()
  }

  /** @internal The number of a category. @throws RangeError when it is not declared. */
  categoryId(category: string): number {
    return category === this.#lastCategory ? this.#lastId : this.#findCategory(category)
  }

  /** @internal As `resolve`, with what bounds go by in two parts. */
  resolveAt(caller: Caller, attributes: Attributes | undefined, origin: Origin | undefined): ResolvedCaller {
    const normal = readCaller(caller)
    callerPrintInto(this.#print, normal, this.#ledger)
    const meters = this.#callerMeters.of(normal)
    return resolvedCaller(normal, this.#print, meters, this, attributes, origin)
  }

  /** @internal `spend` without look-ups. */
  spendIn(caller: ResolvedCaller, category: number, cost: number): Denial | undefined {
    if (this.accounts.hasBounds(category)) {
      return this.spendFrom(this.accounts.listOf(caller, category), category, cost)
    }
    printInto(this.#print, caller)
    return this.#spendOne(metersOf(caller)[category], category, cost)
  }

  /** @internal Spends in these accounts. @throws RangeError when the cost is none. */
  spendFrom(accounts: AccountList | readonly Account[], category: number, cost: number): Denial | undefined {
    checkCost(cost)
    if (!this.policy.enabled) return undefined
    const exceeded = this.#ledger.spend(accounts, cost)
    return exceeded && denialOf(this.policy.categories[category]!, exceeded)
  }

  /**
   * @internal Reserves in these accounts.
   * @param isBrief Whether it is for a moment only, as are others in these accounts: delays take what is reserved for spent.
   */
  reserveIn(accounts: readonly Account[], category: number, cost: number, isBrief = false): Reservation | Denial {
    checkCost(cost)
    return this.#hold(this.policy.categories[category]!, accounts, cost, isBrief)
  }

  /** @internal A denial with what all of these spends exceed, of which it is the first. */
  denialOfAll(
    first: Denial,
    spends: readonly { readonly accounts: readonly Account[]; readonly cost: number }[],
  ): Denial {
    const exceeded = spends.flatMap(({ accounts, cost }) => this.#ledger.check(accounts, cost, true) ?? [])
    return exceeded.length === 0 ? first : { ...first, exceeded, retryDelayMs: longest(exceeded) }
  }

  /** @internal Takes a place of a hold. @throws RangeError when it is not declared. */
  holdFor(name: string, origin: Origin, caller: ResolvedCaller | undefined): Reservation | Denial {
    const who = caller && resolutionOf(caller).who
    return this.#hold(name, this.#holds.accounts(this.#holdId(name), 'all', origin, who), 1, false)
  }

  /** @internal Whether it must be known who wants a hold. @throws RangeError when it is not declared. */
  holdNeedsIdentity(name: string): boolean {
    return this.#holds.needsIdentity(this.#holdId(name))
  }

  /** @internal What is left in an account, and in how many ms more than that is there; null: it cannot be said. */
  outlook(account: Account): (RemainingUnits & { readonly moreInMs: number | null })[] {
    if (!this.policy.enabled) return []
    return this.#ledger.outlook(account).map((left) => ({ bound: account.bound, ...left }))
  }

  /** @internal What is left in these accounts. */
  remainingIn(accounts: readonly Account[]): RemainingUnits[] {
    if (!this.policy.enabled) return []
    return accounts.flatMap((account) =>
      this.#ledger.remaining(account).map((remaining) => ({ bound: account.bound, ...remaining })),
    )
  }

  /** @internal The names of all holds. */
  get holdNames(): readonly string[] {
    return this.#holds.names
  }

  /** @internal Counts checked bounds that are written at this path. @throws AllowanceOptionsError when there is no room. */
  count(bounds: readonly Bound<unknown>[], path: string, part: Part): BoundSet {
    return countBounds(bounds, this.#ledger, (name) => this.categoryId(name), path, part)
  }

  #findCategory(category: string): number {
    const id = this.policy.categoryId(category)
    if (id === -1) {
      throw new RangeError(
        `category ${JSON.stringify(category)} is not declared in rateLimits.categories; declared are ${this.policy.categories.join(', ')}`,
      )
    }
    this.#lastCategory = category
    this.#lastId = id
    return id
  }

  #isResolved(caller: Caller): caller is ResolvedCaller {
    return isObject(caller) && limiterOf(caller) === this
  }

  #accountsOf(caller: Caller, category: number): readonly Account[] {
    return this.accounts.listOf(this.resolve(caller), category).all
  }

  #spendUnresolved(caller: Caller, category: number, cost: number): Denial | undefined {
    if (this.accounts.hasBounds(category)) return this.spendIn(this.resolve(caller), category, cost)
    const normal = readCaller(caller)
    callerPrintInto(this.#print, normal, this.#ledger)
    return this.#spendOne(this.#callerMeters.of(normal)[category], category, cost)
  }

  /** Spends under a caller's own limits only, where its fingerprint is that of `#print`. */
  #spendOne(meter: Meter | undefined, category: number, cost: number): Denial | undefined {
    checkCost(cost)
    if (meter === undefined || !this.policy.enabled) return undefined
    const exceeded = this.#ledger.spendOne(CALLER_BOUND, meter, this.#print, cost)
    return exceeded && denialOf(this.policy.categories[category]!, exceeded)
  }

  #parse(bounds: unknown): readonly Bound<unknown>[] {
    return parseBounds(bounds, this.policy.categories, 'bounds')
  }

  #hold(category: string, accounts: readonly Account[], units: number, isBrief: boolean): Reservation | Denial {
    const made = this.#ledger.hold(this.policy.enabled ? accounts : [], units, isBrief)
    return 'places' in made ? new Reservation(this.#ledger, made) : denialOf(category, made)
  }

  /** Holds are counted as if each were a category of its own. */
  #holdId(name: string): number {
    const id = this.#holds.names.indexOf(name)
    if (id !== -1) return id
    throw new RangeError(
      `hold ${JSON.stringify(name)} is not declared in holds; declared are ${this.#holds.names.join(', ') || 'none'}`,
    )
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function checkCost(cost: number): void {
  if (!Number.isSafeInteger(cost) || cost < 0) {
    throw new RangeError(`cost must be a whole number from 0 to 2^53 - 1, got ${String(cost)}`)
  }
}
