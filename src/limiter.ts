import { z } from 'zod'
import type { Caller } from './caller/caller.ts'
import { normalizeCaller } from './caller/caller.ts'
import { callerKey } from './caller/key.ts'
import type { Clock } from './clock/clock.ts'
import { systemClock } from './clock/system-clock.ts'
import { type Fingerprint, randomSalt } from './ledger/fingerprint.ts'
import type { Refusal, Remaining } from './ledger/memory-ledger.ts'
import { MemoryLedger } from './ledger/memory-ledger.ts'
import type { EarnedBackLimit } from './limit/earned-back.ts'
import type { Limit } from './limit/limit.ts'
import { clockOption } from './policy/clock-option.ts'
import { optionsObject, parseOptions } from './policy/option-schema.ts'
import type { RateLimitsOptions } from './policy/options.ts'
import type { LimitTable, Policy } from './policy/policy.ts'
import { createPolicy } from './policy/policy.ts'
import { parseRateLimits } from './policy/rate-limits.ts'

/** A spend that does not fit. */
export interface Denial {
  readonly category: string
  /** The bound that was exceeded; `caller` for the limits of `rateLimits`. */
  readonly bound: string
  /** The first limit of that bound that was exceeded, in the order in which they are declared. */
  readonly limit: Limit
  /**
   * Whole ms, rounded up, after which the same spend is admitted if the caller spends nothing else in the category until
   * then; 1 ms earlier it is denied (RATE-024). null: it cannot be said when, or never.
   */
  readonly retryDelayMs: number | null
}

/** The answer to a spend. */
export type SpendResult = { readonly admitted: true } | { readonly admitted: false; readonly denial: Denial }

const resolution: unique symbol = Symbol('allowance.resolution')

/** A caller whose key is worked out: a `Caller` like any other, only cheaper to spend for. */
export type ResolvedCaller = Caller & { readonly [resolution]: Resolution }

interface Resolution {
  readonly limiter: Limiter
  readonly print: Fingerprint
  /** By category number. */
  readonly limits: LimitTable
}

/** Options of `createLimiter`. */
export interface LimiterOptions {
  /** Limits, by category and by caller. Default: the built-in categories and their limits. */
  rateLimits?: RateLimitsOptions | undefined
  /** Where the time comes from. Default: `systemClock`. */
  clock?: Clock | undefined
}

const optionsSchema = optionsObject({ rateLimits: z.unknown().optional(), clock: clockOption().optional() })

const ADMITTED: SpendResult = Object.freeze({ admitted: true })
const MIB = 1024 * 1024

/**
 * Makes a limiter, which knows the limits of every caller and what each has spent. It needs no Fastify: use it for jobs,
 * queues, or, as the plugin's `limiter` option, for several servers that share one allowance.
 * @throws AllowanceOptionsError when an option is wrong; it lists every mistake with its path.
 */
export function createLimiter(options: LimiterOptions = {}): Limiter {
  const { rateLimits, clock } = parseOptions(optionsSchema, options, 'options')
  return new Limiter(createPolicy(parseRateLimits(rateLimits)), clock ?? systemClock)
}

/** What `createLimiter` makes. All of its calls are synchronous and exact to the nanosecond of its clock. */
export class Limiter {
  readonly #ledger: MemoryLedger
  readonly #salts: readonly Fingerprint[]
  /** @internal */
  readonly policy: Policy
  /** @internal */
  readonly clock: Clock

  /** @internal Use `createLimiter`. */
  constructor(policy: Policy, clock: Clock) {
    this.policy = policy
    this.clock = clock
    this.#ledger = new MemoryLedger(policy.maxMemoryMib * MIB, clock)
    this.#salts = policy.categories.map(randomSalt)
  }

  /**
   * Spends `cost` units of `category`: charged against every limit that applies to the caller, or denied and charged
   * against none (RATE-020, 022). With `enabled: false` everything is admitted.
   * @param cost A whole number from 0 to 2⁵³ − 1. 0 is always admitted.
   * @throws RangeError when the category is not declared or the cost is not such a number; TypeError when `caller` is
   * none. Nothing is charged then.
   */
  spend(caller: Caller, category: string, cost: number): SpendResult {
    const denial = this.spendIn(this.resolve(caller), this.categoryId(category), cost)
    return denial === undefined ? ADMITTED : { admitted: false, denial }
  }

  /**
   * The ms after which this spend would be admitted if nothing else were spent until then; 0: it would be admitted now.
   * null: it cannot be said when, or never. Charges nothing, and throws as `spend` does.
   */
  retryDelay(caller: Caller, category: string, cost: number): number | null {
    checkCost(cost)
    const id = this.categoryId(category)
    const { print, limits } = this.resolve(caller)[resolution]
    if (!this.policy.enabled) return 0
    return (
      this.#ledger.check(print, this.#salts[id]!, limits[id]! as readonly EarnedBackLimit[], cost)?.retryDelayMs ?? 0
    )
  }

  /**
   * What is left to the caller in a category, one entry for each limit, in the order of their declaration; empty when
   * everything is admitted. Charges nothing, and throws as `spend` does.
   */
  remaining(caller: Caller, category: string): Remaining[] {
    const id = this.categoryId(category)
    const { print, limits } = this.resolve(caller)[resolution]
    if (!this.policy.enabled) return []
    return this.#ledger.remaining(print, this.#salts[id]!, limits[id]! as readonly EarnedBackLimit[])
  }

  /**
   * The caller with its key and limits worked out once, to be used wherever a caller is. Worth keeping for as long as
   * the caller is busy.
   * @throws TypeError when `caller` is not an identity.
   */
  resolve(caller: Caller): ResolvedCaller {
    if ((caller as Partial<ResolvedCaller> | null)?.[resolution]?.limiter === this) return caller as ResolvedCaller
    const normal = normalizeCaller(caller)
    const key = callerKey(normal)
    const value: Resolution = {
      limiter: this,
      print: this.#ledger.fingerprint(key),
      limits: this.policy.limitsFor(normal, key),
    }
    // Not enumerable: a caller that is logged or compared shows who it is and no more.
    return Object.freeze(Object.defineProperty({ ...normal }, resolution, { value })) as ResolvedCaller
  }

  /**
   * `slots`: how many callers × categories can be remembered at a time; `bytes`: the memory that takes, all allocated;
   * `forgotten`: how often a caller's spends were forgotten before they were earned back, for want of room (RATE-051).
   */
  stats(): { slots: number; bytes: number; forgotten: number } {
    return this.#ledger.stats()
  }

  /** @internal The number of a category. @throws RangeError when it is not declared. */
  categoryId(category: string): number {
    const id = this.policy.categoryId(category)
    if (id === -1) {
      throw new RangeError(
        `category ${JSON.stringify(category)} is not declared in rateLimits.categories; declared are ${this.policy.categories.join(', ')}`,
      )
    }
    return id
  }

  /** @internal `spend` without look-ups. */
  spendIn(caller: ResolvedCaller, category: number, cost: number): Denial | undefined {
    checkCost(cost)
    if (!this.policy.enabled) return undefined
    const { print, limits } = caller[resolution]
    const refusal = this.#ledger.spend(
      print,
      this.#salts[category]!,
      limits[category]! as readonly EarnedBackLimit[],
      cost,
    )
    return refusal && denialOf(this.policy.categories[category]!, refusal)
  }
}

function denialOf(category: string, refusal: Refusal): Denial {
  return { category, bound: 'caller', limit: refusal.limit, retryDelayMs: refusal.retryDelayMs }
}

function checkCost(cost: number): void {
  if (!Number.isSafeInteger(cost) || cost < 0) {
    throw new RangeError(`cost must be a whole number from 0 to 2^53 - 1, got ${String(cost)}`)
  }
}
