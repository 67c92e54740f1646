import type { Caller } from '../caller/caller.ts'
import type { MemoryLedger } from '../ledger/memory-ledger.ts'
import type { Meter } from '../ledger/meter.ts'
import type { Limit } from '../limit/limit.ts'
import { DEFAULT_MAX_KEYS, needsRecords } from '../policy/bounds.ts'
import { AllowanceOptionsError } from '../policy/options-error.ts'
import type { LimitTable, Policy } from '../policy/policy.ts'
import { asProblem } from './bound-set.ts'

/** The meters of one caller's limits, by category id. undefined where everything is admitted. */
export type MeterTable = readonly (Meter | undefined)[]

/** The meters of the limits of `rateLimits`, for every caller. */
export class CallerMeters {
  readonly #policy: Policy
  readonly #tables = new Map<LimitTable, MeterTable>()
  /** By category. */
  readonly #hasLimits: readonly boolean[]

  /** @throws AllowanceOptionsError when they do not fit into the memory that there is. */
  constructor(policy: Policy, ledger: MemoryLedger) {
    this.#policy = policy
    const meters = new Map<readonly Limit[], Meter>()
    const meterOf = (limits: readonly Limit[], callers: number, path: string) => {
      if (limits.length === 0) return undefined
      try {
        const made =
          meters.get(limits) ??
          ledger.meter(limits, limits.some(needsRecords) ? { keys: callers, overflow: 'forget' } : undefined, 'first')
        meters.set(limits, made)
        return made
      } catch (error) {
        throw new AllowanceOptionsError([asProblem(error, path)])
      }
    }
    const add = (table: LimitTable, callers: number, path: string) =>
      this.#tables.set(
        table,
        table.map((limits, id) => meterOf(limits, callers, `${path}categories.${policy.categories[id]}`)),
      )
    for (const table of policy.typeTables) add(table, DEFAULT_MAX_KEYS, 'rateLimits.')
    // What an override does not replace is there already.
    for (const [i, table] of policy.overrideTables.entries()) add(table, 0, `rateLimits.overrides[${i}].`)
    const tables = [...this.#tables.values()]
    this.#hasLimits = policy.categories.map((_, id) => tables.some((table) => table[id] !== undefined))
  }

  /** @param caller As `normalizeCaller` returns it. */
  of(caller: Caller): MeterTable {
    return this.#tables.get(this.#policy.limitsFor(caller))!
  }

  /** Whether any caller has a limit in a category. */
  hasLimits(category: number): boolean {
    return this.#hasLimits[category]!
  }

  /** Whether every caller without an override has a limit in a category. */
  limitEverybody(category: number): boolean {
    return this.#policy.typeTables.every((table) => table[category]!.length > 0)
  }
}
