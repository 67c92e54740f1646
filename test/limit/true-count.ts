export interface Spend {
  readonly ns: bigint
  readonly units: number
}

/** The units admitted after `ns`, by a log of everything that was. */
export function admittedSince(admitted: readonly Spend[], ns: bigint): number {
  let units = 0
  for (let i = admitted.length - 1; i >= 0 && admitted[i]!.ns > ns; i--) units += admitted[i]!.units
  return units
}
