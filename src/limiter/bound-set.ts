import type { Account } from '../ledger/account.ts'
import type { Fingerprint } from '../ledger/fingerprint.ts'
import { LedgerFullError, type MemoryLedger, type MeterOptions, type Part } from '../ledger/memory-ledger.ts'
import type { Meter } from '../ledger/meter.ts'
import type { CountedLimit } from '../limit/limit.ts'
import { boundKey, type Identified, type NamedTarget, type Origin } from '../policy/bound-key.ts'
import { type Bound, DEFAULT_MAX_KEYS } from '../policy/bounds.ts'
import type { Hold } from '../policy/holds.ts'
import { AllowanceOptionsError, type OptionProblem } from '../policy/options-error.ts'

/** A bound, or a hold, that counts. */
export interface CountedBound {
  readonly target: NamedTarget
  /** What spends it counts. Each hold is a category of its own. */
  readonly category: number
  readonly meter: Meter
  /** The account of the key that all share. */
  readonly shared: Account
}

/** Which bounds a spend concerns: those that need no identity, the others, or all. */
export type Which = 'before identity' | 'after identity' | 'all'

/** Bounds with counters of their own: made by `limiter.bounds()`, or of the options of a plugin or a route. */
export class BoundSet {
  /** The names of the bounds, in the order of their declaration. */
  readonly names: readonly string[]
  readonly #ledger: MemoryLedger
  readonly #bounds: readonly CountedBound[]
  /** By category, whether it is about it; shorter than there are categories. */
  readonly #isAbout: boolean[] = []
  #disposed = false

  /** @internal Use `limiter.bounds()`. */
  constructor(bounds: readonly CountedBound[], ledger: MemoryLedger) {
    this.names = bounds.map(({ target }) => target.name)
    this.#bounds = bounds
    for (const { category } of bounds) this.#isAbout[category] = true
    this.#ledger = ledger
  }

  /**
   * Gives back the memory of its counters. It must not be used any more: a spend under it is an Error. A request that is under
   * way asks the `bounds` of its route again, which must not name it any more.
   */
  dispose(): void {
    this.#disposed = true
    for (const { meter } of this.#bounds) this.#ledger.dispose(meter)
  }

  /** @internal */
  get isDisposed(): boolean {
    return this.#disposed
  }

  /** @internal Whether it holds a bound of this category that needs an identity. */
  needsIdentity(category: number): boolean {
    return this.#bounds.some((bound) => bound.category === category && bound.target.needsIdentity)
  }

  /** @internal Whether it holds a bound of this category at all. */
  isAbout(category: number): boolean {
    return category < this.#isAbout.length && this.#isAbout[category] === true
  }

  /** @internal Whether it holds a bound of this category that is about everybody. */
  boundsEverybody(category: number): boolean {
    return this.#bounds.some((bound) => bound.category === category && isForEverybody(bound.target))
  }

  /** @internal What a spend of this category from there concerns. */
  accounts(category: number, which: Which, origin: Origin, who: Identified | undefined): Account[] {
    if (this.#disposed) throw new Error('a spend under bounds that were disposed of')
    const accounts: Account[] = []
    for (const { target, category: own, meter, shared } of this.#bounds) {
      if (own !== category) continue
      if (which !== 'all' && target.needsIdentity !== (which === 'after identity')) continue
      const key = boundKey(target, origin, who)
      if (key === undefined) continue
      accounts.push(key === '' ? shared : { bound: target.name, meter, print: this.#ledger.fingerprint(key) })
    }
    return accounts
  }
}

/** Of the key that all share, of which there is one only under any bound. */
const EMPTY_KEY: Fingerprint = Object.freeze({ a: 0, b: 0, c: 0, d: 0 })

/**
 * Makes the meters of bounds, whose memory is taken now.
 * @param path What the user calls the list, for errors.
 * @param part Where the memory is taken from.
 * @throws AllowanceOptionsError when they do not fit into the memory that there is.
 */
export function countBounds(
  bounds: readonly Bound<unknown>[],
  ledger: MemoryLedger,
  categoryId: (name: string) => number,
  path: string,
  part: Part,
): BoundSet {
  const rows = bounds.map((target) => ({
    target,
    category: categoryId(target.category),
    limits: target.limits,
    options: meterOptions(target),
  }))
  return count(rows, ledger, path, part)
}

/** The same for holds. */
export function countHolds(holds: readonly Hold<unknown>[], ledger: MemoryLedger, path: string): BoundSet {
  const rows = holds.map((target, category) => {
    const { count, retryDelaySeconds, maxKeys } = target
    const limits = [{ kind: 'hold' as const, count, retryDelaySeconds }]
    const keys = target.per === 'everyone' ? 0 : maxKeys
    return { target, category, limits, options: { keys, overflow: 'share' as const } }
  })
  return count(rows, ledger, path, 'first')
}

interface Row {
  readonly target: NamedTarget
  readonly category: number
  readonly limits: readonly CountedLimit[]
  readonly options: MeterOptions | undefined
}

function count(rows: readonly Row[], ledger: MemoryLedger, path: string, part: Part): BoundSet {
  const problems: OptionProblem[] = []
  const counted: CountedBound[] = []
  for (const [index, { target, category, limits, options }] of rows.entries()) {
    if (limits.length === 0) continue
    try {
      const meter = ledger.meter(limits, options, part)
      counted.push({ target, category, meter, shared: { bound: target.name, meter, print: EMPTY_KEY } })
    } catch (error) {
      problems.push(asProblem(error, `${path}[${index}]`))
    }
  }
  const [first, ...others] = problems
  if (first === undefined) return new BoundSet(counted, ledger)
  for (const { meter } of counted) ledger.dispose(meter)
  throw new AllowanceOptionsError([first, ...others])
}

function meterOptions({ per, maxKeys, overflow }: Bound<unknown>): MeterOptions | undefined {
  if (per === 'everyone') return { keys: 0, overflow }
  // What all of a route share must not be forgotten for what one caller has spent.
  const keys = maxKeys ?? (per === 'route' ? DEFAULT_MAX_KEYS : undefined)
  return keys === undefined ? undefined : { keys, overflow }
}

/** @throws the error, when it is not that of a ledger without room. */
export function asProblem(error: unknown, path: string): OptionProblem {
  if (!(error instanceof LedgerFullError)) throw error
  const { needed, available, part } = error
  const option = part === 'kept' ? 'boundsMemoryMib' : 'maxMemoryMib'
  const message =
    `must fit into rateLimits.${option}: needs ${sizeOf(needed)}, and ${sizeOf(available)} are left; ` +
    'allow more memory, or fewer keys (maxKeys) or units'
  return { path, message }
}

function sizeOf(bytes: number): string {
  return bytes < 10_000 ? `${bytes} bytes` : `${(bytes / (1024 * 1024)).toFixed(2)} MiB`
}

function isForEverybody({ appliesTo, per }: NamedTarget): boolean {
  return appliesTo === undefined && typeof per !== 'function'
}
