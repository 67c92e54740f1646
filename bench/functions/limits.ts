/** Two limits that admit whatever the benchmarks spend, in a minute and in an hour; the peers, which take one, get the first. */
export const [minute, hour] = [
  { count: 1_000_000, windowSeconds: 60 },
  { count: 20_000_000, windowSeconds: 3600 },
] as const

/** For what all callers spend together. */
export const forEverybody = [
  { count: 1_000_000_000, windowSeconds: 60 },
  { count: 1_000_000_000, windowSeconds: 3600 },
] as const

export function mustBeAdmitted(admitted: boolean): void {
  if (!admitted) throw new Error('a spend was denied: the limits of the benchmarks are too low')
}
