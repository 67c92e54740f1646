/** Two limits that admit whatever is asked of the servers, in a minute and in an hour; the peer, which takes one, gets the first. */
export const [minute, hour] = [
  { count: 1_000_000, windowSeconds: 60 },
  { count: 20_000_000, windowSeconds: 3600 },
] as const

/**
 * One under which spends count for so long that every caller that is met again has spent something, as busy callers have: the second
 * of the functions' two, and the one that the peers get.
 */
export const day = { count: 10_000, windowSeconds: 86_400 } as const

/** For what all callers spend together. */
export const forEverybody = [
  { count: 1_000_000_000, windowSeconds: 60 },
  { count: 1_000_000_000, windowSeconds: 3600 },
] as const

export function mustBeAdmitted(admitted: boolean): void {
  if (!admitted) throw new Error('a spend was denied: the limits of the benchmarks are too low')
}
