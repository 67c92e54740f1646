/**
 * An independent model of RATE-020 and RATE-024: rationals are compared crosswise in BigInt, delays and units are searched for
 * with the admission rule alone, and callers live in a plain Map. Slow, and without a formula that the code under test shares.
 */

const nsPerSecond = 1_000_000_000n
const nsPerMs = 1_000_000n

/** Earned-back times saturate at this many nanoseconds after the ledger's start: 2^34 s − 1 ns. */
export const latestNs = 2n ** 34n * nsPerSecond - 1n

export interface Limit {
  readonly count: number
  readonly windowSeconds: number
}

export type Verdict =
  | { readonly admitted: true }
  | { readonly admitted: false; readonly limit: Limit; readonly retryDelayMs: number }

export interface Remaining {
  readonly bound: string
  readonly limit: Limit
  readonly units: number
  readonly fullInMs: number
}

const later = (a: bigint, b: bigint): bigint => {
  if (a > b) return a
  return b
}

/** RATE-020 for one limit: E + n × W / C − t is not greater than W, or n is greater than C and E equals t. */
export const admits = (limit: Limit, earnedBackAt: bigint, t: bigint, cost: bigint): boolean => {
  const count = BigInt(limit.count)
  const window = BigInt(limit.windowSeconds) * nsPerSecond
  const e = later(earnedBackAt, t)
  return (e - t) * count + cost * window <= window * count || (cost > count && e === t)
}

/** The least whole number in [low, high] for which `holds`, given that it holds from some number on and at `high`. */
const least = (low: bigint, high: bigint, holds: (candidate: bigint) => boolean): bigint => {
  while (low < high) {
    const middle = (low + high) / 2n
    if (holds(middle)) high = middle
    else low = middle + 1n
  }
  return low
}

export class EarnedBackModel {
  readonly #startNs: bigint
  readonly #earnedBackAt = new Map<string, bigint[]>()

  constructor(startNs: bigint) {
    this.#startNs = startNs
  }

  spend(key: string, limits: readonly Limit[], cost: number, nowNs: bigint): Verdict {
    if (cost === 0) return { admitted: true }
    const t = this.#instant(nowNs)
    const before = this.#of(key, limits)
    const first = limits.findIndex((limit, i) => !admits(limit, before[i]!, t, BigInt(cost)))
    if (first >= 0) {
      return { admitted: false, limit: limits[first]!, retryDelayMs: this.retryDelay(key, limits, cost, nowNs) }
    }
    this.#earnedBackAt.set(
      key,
      limits.map((limit, i) => {
        const e = later(before[i]!, t)
        const after = e + (BigInt(cost) * BigInt(limit.windowSeconds) * nsPerSecond) / BigInt(limit.count)
        return after > latestNs ? latestNs : after
      }),
    )
    return { admitted: true }
  }

  retryDelay(key: string, limits: readonly Limit[], cost: number, nowNs: bigint): number {
    if (cost === 0) return 0
    const t = this.#instant(nowNs)
    const before = this.#of(key, limits)
    const fitsAfter = (ms: bigint) =>
      limits.every((limit, i) => admits(limit, before[i]!, t + ms * nsPerMs, BigInt(cost)))
    return Number(least(0n, latestNs / nsPerMs + 1n, fitsAfter))
  }

  remaining(key: string, limits: readonly Limit[], nowNs: bigint): Remaining[] {
    const t = this.#instant(nowNs)
    return this.#of(key, limits).map((e, i) => {
      const limit = limits[i]!
      const tooMany = least(1n, BigInt(limit.count) + 1n, (n) => n > limit.count || !admits(limit, e, t, n))
      return {
        bound: 'caller',
        limit,
        units: Number(tooMany) - 1,
        fullInMs: e > t ? Number((e - t + nsPerMs - 1n) / nsPerMs) : 0,
      }
    })
  }

  /** True when a spend of this caller is not earned back yet under some limit. */
  owes(key: string, nowNs: bigint): boolean {
    const t = this.#instant(nowNs)
    return (this.#earnedBackAt.get(key) ?? []).some((e) => e > t)
  }

  /** What RATE-051 does to a caller for whom there is no room. */
  forget(key: string): void {
    this.#earnedBackAt.delete(key)
  }

  #of(key: string, limits: readonly Limit[]): bigint[] {
    return this.#earnedBackAt.get(key) ?? limits.map(() => 0n)
  }

  #instant(nowNs: bigint): bigint {
    const t = nowNs - this.#startNs
    return t > latestNs ? latestNs : t
  }
}
