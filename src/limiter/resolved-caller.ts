import type { Caller } from '../caller/caller.ts'
import type { Account } from '../ledger/account.ts'
import type { AccountList } from '../ledger/account-list.ts'
import type { Fingerprint, FingerprintBuffer } from '../ledger/fingerprint.ts'
import type { Attributes, Origin } from '../policy/bound-key.ts'
import { CALLER_BOUND } from '../policy/target.ts'
import type { MeterTable } from './caller-meters.ts'
import { Resolution } from './resolution.ts'

/** A caller whose key is worked out: a `Caller` like any other, only cheaper to spend for. */
export type ResolvedCaller = Caller & Resolved

/**
 * What is known of a resolved caller. It is on the caller itself, as a spend should read one object only, and private, so that
 * a caller that is logged or compared shows who it is and no more.
 */
class Resolved {
  readonly #a: number
  readonly #b: number
  readonly #c: number
  readonly #d: number
  readonly #meters: MeterTable
  readonly #limiter: object
  /** Made when it is first needed: most spends are in the caller's own limits only. */
  #resolution: Resolution | undefined
  /** The accounts that were found last, which mostly are the only ones, and their category; and those found before. */
  #accounts: AccountList | undefined
  #category = -1
  #others: Map<number, AccountList> | undefined

  constructor(
    caller: Caller,
    { a, b, c, d }: Fingerprint,
    meters: MeterTable,
    limiter: object,
    attributes: Attributes | undefined,
    origin: Origin | undefined,
  ) {
    this.#a = a
    this.#b = b
    this.#c = c
    this.#d = d
    this.#meters = meters
    this.#limiter = limiter
    this.#resolution =
      attributes || origin ? new Resolution(this as unknown as ResolvedCaller, attributes, origin) : undefined
    Object.assign(this, caller)
    Object.freeze(this)
  }

  /** The limiter that a caller was resolved by; undefined, if it was not. */
  static limiterOf(caller: object): object | undefined {
    return #limiter in caller ? caller.#limiter : undefined
  }

  /** The meters of a caller's own limits, by category. */
  static metersOf(caller: Resolved): MeterTable {
    return caller.#meters
  }

  static printInto(print: FingerprintBuffer, caller: Resolved): void {
    print.a = caller.#a
    print.b = caller.#b
    print.c = caller.#c
    print.d = caller.#d
  }

  /** What bounds go by. */
  static resolutionOf(caller: ResolvedCaller): Resolution {
    caller.#resolution ??= new Resolution(caller)
    return caller.#resolution
  }

  /** The accounts that a spend of a category concerns; undefined, if they were not kept. */
  static keptAccounts(caller: ResolvedCaller, category: number): AccountList | undefined {
    return caller.#category === category ? caller.#accounts : caller.#others?.get(category)
  }

  /** Keeps the accounts of a category. */
  static keepAccounts(caller: ResolvedCaller, category: number, accounts: AccountList): void {
    if (caller.#accounts !== undefined) {
      caller.#others ??= new Map()
      caller.#others.set(caller.#category, caller.#accounts)
    }
    caller.#accounts = accounts
    caller.#category = category
  }

  /** The accounts of a caller's own limits. */
  static ownAccounts(caller: Resolved, category: number): Account[] {
    const meter = caller.#meters[category]
    if (meter === undefined) return []
    const print = { a: caller.#a, b: caller.#b, c: caller.#c, d: caller.#d }
    return [{ bound: CALLER_BOUND, meter, print }]
  }
}

export const { keepAccounts, keptAccounts, limiterOf, metersOf, ownAccounts, printInto, resolutionOf } = Resolved

/** Resolves a caller that is normalized. */
export function resolvedCaller(...known: ConstructorParameters<typeof Resolved>): ResolvedCaller {
  return Reflect.construct(Resolved, known, PlainObject) as ResolvedCaller
}

/** Resolved callers are plain objects, as others are. */
function PlainObject(): void {}
PlainObject.prototype = Object.prototype
