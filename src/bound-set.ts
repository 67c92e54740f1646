import type { Fingerprint } from './ledger/fingerprint.ts'
import { type Account, LedgerFullError, type MemoryLedger } from './ledger/memory-ledger.ts'
import type { Meter } from './ledger/meter.ts'
import { boundKey, type Identified, type Origin } from './policy/bound-key.ts'
import type { Bound } from './policy/bounds.ts'
import { AllowanceOptionsError, type OptionProblem } from './policy/options-error.ts'

/** A bound that counts. */
export interface CountedBound {
  readonly bound: Bound
  readonly category: number
  readonly meter: Meter
}

/** Which bounds a spend concerns: those that need no identity, the others, or all. */
export type Which = 'before identity' | 'after identity' | 'all'

/** Bounds with counters of their own: made by `limiter.bounds()`, or of the options of a plugin or a route. */
export class BoundSet {
  /** The names of the bounds, in the order of their declaration. */
  readonly names: readonly string[]
  /** Whether one of its bounds is about everybody, and not only about some callers or requests. */
  readonly appliesToEverybody: boolean
  readonly #ledger: MemoryLedger
  readonly #bounds: readonly CountedBound[]
  #disposed = false

  /** @internal Use `limiter.bounds()`. */
  constructor(bounds: readonly CountedBound[], ledger: MemoryLedger) {
    this.names = bounds.map(({ bound }) => bound.name)
    this.appliesToEverybody = bounds.some(({ bound }) => isForEverybody(bound))
    this.#bounds = bounds
    this.#ledger = ledger
  }

  /** Gives back the memory of its counters. It must not be used any more: a spend under it is an Error. */
  dispose(): void {
    this.#disposed = true
    for (const { meter } of this.#bounds) this.#ledger.dispose(meter)
  }

  /** @internal Whether it holds a bound of this category that needs an identity. */
  needsIdentity(category: number): boolean {
    return this.#bounds.some((counted) => counted.category === category && counted.bound.needsIdentity)
  }

  /** @internal What a spend of this category from there concerns. */
  accounts(category: number, which: Which, origin: Origin, who: Identified | undefined): Account[] {
    if (this.#disposed) throw new Error('a spend under bounds that were disposed of')
    const accounts: Account[] = []
    for (const counted of this.#bounds) {
      const { bound, meter } = counted
      if (counted.category !== category) continue
      if (which !== 'all' && bound.needsIdentity !== (which === 'after identity')) continue
      const key = boundKey(bound, origin, who)
      if (key !== undefined) accounts.push({ bound: bound.name, meter, print: this.#printOf(key) })
    }
    return accounts
  }

  #printOf(key: string): Fingerprint {
    return key === '' ? EMPTY_KEY : this.#ledger.fingerprint(key)
  }
}

/** Of the key that all share, of which there is one only under any bound. */
const EMPTY_KEY: Fingerprint = Object.freeze({ a: 0, b: 0, c: 0, d: 0 })

/** Keys that are kept apart where a bound says nothing and its limits are not in the table. */
const DEFAULT_KEYS = 10_000

/**
 * Makes the meters of bounds, whose memory is taken now.
 * @param path What the user calls the list, for errors.
 * @throws AllowanceOptionsError when they do not fit into the memory that there is.
 */
export function countBounds(
  bounds: readonly Bound[],
  ledger: MemoryLedger,
  categoryId: (name: string) => number,
  path: string,
): BoundSet {
  const problems: OptionProblem[] = []
  const counted: CountedBound[] = []
  for (const [index, bound] of bounds.entries()) {
    if (bound.limits.length === 0) continue
    try {
      counted.push({ bound, category: categoryId(bound.category), meter: ledger.meter(bound.limits, meterOptions(bound)) })
    } catch (error) {
      problems.push(asProblem(error, `${path}[${index}]`))
    }
  }
  const [first, ...others] = problems
  if (first === undefined) return new BoundSet(counted, ledger)
  for (const { meter } of counted) ledger.dispose(meter)
  throw new AllowanceOptionsError([first, ...others])
}

function meterOptions(bound: Bound) {
  // The counter of all must not be forgotten for that of one.
  if (bound.per === 'everyone') return { keys: 1, overflow: 'forget' as const }
  const isInTable = bound.maxKeys === undefined && bound.limits.every(({ kind = 'earned_back' }) => kind === 'earned_back')
  if (isInTable && bound.per !== 'route') return undefined
  return { keys: bound.maxKeys ?? DEFAULT_KEYS, overflow: bound.overflow }
}

/** @throws the error, when it is not that of a ledger without room. */
export function asProblem(error: unknown, path: string): OptionProblem {
  if (!(error instanceof LedgerFullError)) throw error
  const { needed, available } = error
  const message =
    `must fit into the memory that rateLimits.maxMemoryMib allows (rateLimits.boundsMemoryMib, for what is made after the first spend): ` +
    `needs ${mib(needed)} MiB, and ${mib(available)} MiB are left; allow more, or fewer keys (maxKeys) or units`
  return { path, message }
}

function mib(bytes: number): string {
  return (bytes / (1024 * 1024)).toFixed(2)
}

function isForEverybody(bound: Bound): boolean {
  return bound.appliesTo === undefined && typeof bound.per !== 'function'
}
