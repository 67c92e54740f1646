import type { Rejection } from './rejection.ts'

interface Held {
  readonly rejection: Rejection
  /** On the client's clock. */
  readonly until: number
}

/** More than a method has, unless a server makes them up. */
const MAX_CATEGORIES = 100

/** The retry delays that are running, by method and category: one of each is remembered. */
export class HeldMethods {
  readonly #methods = new Map<string, Map<string, Held>>()

  /** How many are remembered. */
  get size(): number {
    return [...this.#methods.values()].reduce((sum, { size }) => sum + size, 0)
  }

  /** A delay that ends before one that runs already changes nothing. */
  hold(method: string, rejection: Rejection, now: number): void {
    const until = now + (rejection.retryDelayMs ?? 0)
    const categories = this.#methods.get(method) ?? new Map<string, Held>()
    if (until <= (categories.get(rejection.category)?.until ?? now)) return
    this.#forget(now)
    if (categories.size >= MAX_CATEGORIES && !categories.has(rejection.category)) return
    this.#methods.set(method, categories)
    categories.set(rejection.category, { rejection, until })
  }

  /** Those that have passed. */
  #forget(now: number): void {
    for (const [method, categories] of this.#methods) {
      for (const [category, { until }] of categories) if (until <= now) categories.delete(category)
      if (categories.size === 0) this.#methods.delete(method)
    }
  }

  /** Of the delays that run for a method and apply, the one that ends last. */
  longest(method: string, now: number, applies: (category: string) => boolean): Held | undefined {
    let longest: Held | undefined
    for (const [category, held] of this.#methods.get(method) ?? []) {
      if (held.until > (longest?.until ?? now) && applies(category)) longest = held
    }
    return longest
  }
}
