/** Two limits that admit whatever the benchmarks spend, in a minute and in an hour; the peers, which take one, get the first. */
export const [minute, hour] = [
  { count: 1_000_000, windowSeconds: 60 },
  { count: 20_000_000, windowSeconds: 3600 },
] as const

/** One that spends are earned back under for so long that every caller met again still owes something, as busy callers do. */
export const day = { count: 10_000, windowSeconds: 86_400 } as const

/** For what all callers spend together. */
export const forEverybody = [
  { count: 1_000_000_000, windowSeconds: 60 },
  { count: 1_000_000_000, windowSeconds: 3600 },
] as const

export function mustBeAdmitted(admitted: boolean): void {
  if (!admitted) throw new Error('a spend was denied: the limits of the benchmarks are too low')
}
