/** The rent of a period in units, for the number of topics that a stream holds. */
export type RentOf = (topics: number) => number

/** `1 + ceil(topics / 1000)` (RATE-030). In whole numbers: a division would round for topics beyond 2⁵³ / 1000. */
export const defaultRentOf: RentOf = (topics) => 1 + (topics - (topics % 1000)) / 1000 + (topics % 1000 > 0 ? 1 : 0)

/**
 * The rent for `topics`.
 * @throws RangeError when `topics`, or what `rentOf` makes of it, is no whole number from 0 to 2⁵³ − 1.
 */
export function rentFor(rentOf: RentOf, topics: number): number {
  if (!isWhole(topics)) throw new RangeError(`topics must be a whole number from 0 to 2^53 - 1, got ${String(topics)}`)
  const rent = rentOf(topics)
  if (!isWhole(rent)) {
    throw new RangeError(
      `streams.rentOf must return a whole number from 0 to 2^53 - 1, returned ${String(rent)} for ${topics} topics`,
    )
  }
  return rent
}

function isWhole(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0
}
