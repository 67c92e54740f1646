/** What callers are called, by number: the name of an API key, or an address. */
export type Named = (index: number) => string

/** A library, or what stands for one, that spends units for callers. */
export interface Subject {
  /** Spends once for each caller from `from` to `to`, who may be strangers. */
  fill(from: number, to: number): void | Promise<void>

  /**
   * Makes ready to spend for callers in this order: returns what spends one unit each for those from `from` to `to`, and
   * throws when one is denied.
   */
  prepare(visits: Uint32Array): (from: number, to: number) => void | Promise<void>
}

export const keyName: Named = (index) => `client-${String(index).padStart(8, '0')}`

/** Addresses of 10.0.0.0/8. */
export const addressName: Named = (index) => `10.${(index >>> 16) & 255}.${(index >>> 8) & 255}.${index & 255}`

/** The names in the order of the visits. */
export function namesOf(visits: Uint32Array, named: Named): string[] {
  return Array.from(visits, named)
}
