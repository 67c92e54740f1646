import { type EarnedBackLimit, emptyPrice, priceInto } from '../limit/earned-back.ts'
import { MAX_LIMITS } from '../limit/ranges.ts'

// Kept and reused, so that a spend allocates nothing.
const price = emptyPrice()

/** Numbers of each price. */
export const PRICE_NUMBERS = 3

/** The prices of a cost under each limit of a list, as the table takes them. */
export class PriceList {
  readonly #limits: readonly EarnedBackLimit[]
  /** Of each price `mostDebtNs`, `seconds` and `nanos`; all 0 where there is no limit, under which nothing is ever owed. */
  readonly #numbers = new Float64Array(PRICE_NUMBERS * MAX_LIMITS)
  #cost = 0

  constructor(limits: readonly EarnedBackLimit[]) {
    this.#limits = limits
  }

  /** The prices of a cost (1 … 2⁵³ − 1), worked out when it is another than the last. The same array each time. */
  of(cost: number): Float64Array {
    if (cost !== this.#cost) this.#workOut(cost)
    return this.#numbers
  }

  #workOut(cost: number): void {
    for (let i = 0; i < this.#limits.length; i++) {
      priceInto(this.#limits[i]!, cost, price)
      this.#numbers[PRICE_NUMBERS * i] = price.mostDebtNs
      this.#numbers[PRICE_NUMBERS * i + 1] = price.seconds
      this.#numbers[PRICE_NUMBERS * i + 2] = price.nanos
    }
    this.#cost = cost
  }
}
