/** What was measured of one thing: a figure for each round, in the order of the rounds. */
export interface Series {
  readonly name: string
  readonly unit: string
  /** Of a curve, which has a series for each point: how many callers, for example. */
  readonly x?: number
  readonly rounds: readonly number[]
}

/** A figure, and mostly a bound that it is held against. */
export interface Target {
  readonly what: string
  readonly value: number
  /** Where the value lies with 95 % confidence, by bootstrap over the rounds. */
  readonly interval?: readonly [number, number]
  readonly unit: string
  readonly atLeast?: number
  readonly atMost?: number
}

/** What a benchmark has found. */
export interface Findings {
  readonly series: readonly Series[]
  readonly targets: readonly Target[]
  /** How it was measured, where that is not in the names. */
  readonly notes: readonly string[]
}

/** What a benchmark is told to do it with. */
export interface Context<Sizes> {
  readonly sizes: Sizes
  /** Tells somebody who waits how far it is. */
  progress(text: string): void
}

export interface Benchmark<Sizes> {
  /** As in `--only P1,P4`. */
  readonly id: string
  readonly title: string
  run(context: Context<Sizes>): Promise<Findings>
}

/** undefined: it is shown, and no bound is set. */
export function isMet({ value, atLeast, atMost }: Target): boolean | undefined {
  if (atLeast === undefined && atMost === undefined) return undefined
  return (atLeast === undefined || value >= atLeast) && (atMost === undefined || value <= atMost)
}
