import type { Rejection } from './rejection.ts'

interface Held {
  readonly rejection: Rejection
  /** On the client's clock. */
  readonly until: number
}

/** The retry delays that are running, by method and category: one of each is remembered. */
export class HeldMethods {
  readonly #methods = new Map<string, Map<string, Held>>()

  /** A delay that ends before one that runs already changes nothing. */
  hold(method: string, rejection: Rejection, now: number): void {
    const until = now + (rejection.retryDelayMs ?? 0)
    const categories = this.#methods.get(method) ?? new Map<string, Held>()
    this.#methods.set(method, categories)
    if (until <= (categories.get(rejection.category)?.until ?? now)) return
    categories.set(rejection.category, { rejection, until })
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
