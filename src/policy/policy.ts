import { type AuthType, authTypes, type Caller } from '../caller/caller.ts'
import { callerKey } from '../caller/key.ts'
import { parseTrustedProxies, type TrustedProxies } from '../caller/trusted-proxies.ts'
import type { Limit } from '../limit/limit.ts'
import { defaultLimits } from './default-limits.ts'
import type { RateLimits } from './rate-limits.ts'

/** The limits of one caller, indexed by category id. Frozen, and one object for all callers with the same limits. */
export type LimitTable = readonly (readonly Limit[])[]

/** Which limits apply to whom: worked out once, when it is created. */
export interface Policy {
  /** False: nothing may be denied (RATE-012). `limitsFor` answers as if it were true. */
  readonly enabled: boolean
  /** Memory for the ledger, in MiB. */
  readonly maxMemoryMib: number
  /** The part of it kept for bounds that are made later, in MiB. */
  readonly boundsMemoryMib: number
  readonly trustedProxies: TrustedProxies
  /** Names by category id: the seven built-in ones in the order of the default limits table, then those of one's own. */
  readonly categories: readonly string[]
  /** The id of a category, its index in `categories`; -1 when nobody declared it. */
  categoryId(name: string): number
  /** The tables of callers that no override names, one for each auth type. */
  readonly typeTables: readonly LimitTable[]
  /** The tables of callers that an override names. What the override does not replace is that of the auth type. */
  readonly overrideTables: readonly LimitTable[]
  /**
   * The most specific limits that name the caller (RATE-025). At most one Map lookup, none when there are no overrides.
   *
   * @param caller as `normalizeCaller` returns it
   */
  limitsFor(caller: Caller): LimitTable
}

/** Plans the limits of every kind of caller and of every caller that has an override. */
export function createPolicy(rateLimits: RateLimits): Policy {
  const categories = Object.freeze([...new Set([...defaultLimits.keys(), ...rateLimits.categories.keys()])])
  const ids = new Map(categories.map((name, id) => [name, id]))
  const byType = Object.fromEntries(authTypes.map((type) => [type, tableOf(type)])) as Record<AuthType, LimitTable>
  const byKey = new Map<string, LimitTable>()
  for (const override of rateLimits.overrides) {
    const base = byType[override.caller.type]
    const table = categories.map((name, id) => override.categories.get(name) ?? base[id]!)
    byKey.set(callerKey(override.caller), Object.freeze(table))
  }

  function tableOf(type: AuthType): LimitTable {
    return Object.freeze(
      categories.map((name) => {
        const set = rateLimits.categories.get(name)
        const limits = set?.[type] ?? set?.default ?? defaultLimits.get(name)
        if (limits === undefined) throw new Error(`category ${name} has no default limits`)
        return limits
      }),
    )
  }

  return Object.freeze({
    enabled: rateLimits.enabled,
    maxMemoryMib: rateLimits.maxMemoryMib,
    boundsMemoryMib: rateLimits.boundsMemoryMib,
    trustedProxies: parseTrustedProxies(rateLimits.trustedProxies),
    categories,
    categoryId: (name: string) => ids.get(name) ?? -1,
    typeTables: Object.freeze(authTypes.map((type) => byType[type])),
    overrideTables: Object.freeze([...byKey.values()]),
    limitsFor:
      byKey.size === 0
        ? (caller: Caller) => byType[caller.type]
        : (caller: Caller) => byKey.get(callerKey(caller)) ?? byType[caller.type],
  })
}
