import { randomOf } from './random.ts'

/** Median and quartiles. */
export interface Spread {
  readonly low: number
  readonly median: number
  readonly high: number
}

export function spreadOf(figures: readonly number[]): Spread {
  const sorted = [...figures].sort((a, b) => a - b)
  return { low: quantile(sorted, 0.25), median: quantile(sorted, 0.5), high: quantile(sorted, 0.75) }
}

export function medianOf(figures: readonly number[]): number {
  return spreadOf(figures).median
}

/** @param sorted Ascending, not empty. Between two of them, in proportion. */
export function quantile(sorted: readonly number[], share: number): number {
  if (sorted.length === 0) throw new RangeError('no figures')
  const at = share * (sorted.length - 1)
  const below = sorted[Math.floor(at)]!
  return below + (sorted[Math.ceil(at)]! - below) * (at - Math.floor(at))
}

/** Round by round: each was measured right beside the other. */
export function ratiosOf(figures: readonly number[], others: readonly number[]): number[] {
  if (figures.length !== others.length) throw new RangeError('both need the same rounds')
  return figures.map((figure, round) => figure / others[round]!)
}

export interface Ratio {
  readonly value: number
  /** Where it lies with 95 % confidence. */
  readonly interval: readonly [number, number]
}

/** The median of the rounds' ratios. Interval: bootstrap over the rounds. */
export function ratioOf(figures: readonly number[], others: readonly number[]): Ratio {
  const ratios = ratiosOf(figures, others)
  return { value: medianOf(ratios), interval: bootstrap((draw) => medianOf(draw(ratios))) }
}

/**
 * The same of two that were measured in several processes each, since processes of the same program differ: of the means of the
 * processes, round by round. Interval: bootstrap over processes and rounds.
 * @param figures For each process, by round.
 */
export function ratioOfProcesses(
  figures: readonly (readonly number[])[],
  others: readonly (readonly number[])[],
): Ratio {
  const value = medianOf(ratiosOf(meanOf(figures), meanOf(others)))
  const interval = bootstrap((draw) => medianOf(draw(ratiosOf(meanOf(draw(figures)), meanOf(draw(others))))))
  return { value, interval }
}

/** Of several processes, round by round. */
export function meanOf(figures: readonly (readonly number[])[]): number[] {
  return figures[0]!.map((_, round) => figures.reduce((sum, rounds) => sum + rounds[round]!, 0) / figures.length)
}

const RESAMPLES = 2000

/** @param statistic What is looked for, of what is drawn. */
function bootstrap(statistic: (draw: <T>(from: readonly T[]) => readonly T[]) => number): readonly [number, number] {
  const random = randomOf(1)
  const draw = <T>(from: readonly T[]) => from.map(() => from[Math.floor(random() * from.length)]!)
  const drawn = Array.from({ length: RESAMPLES }, () => statistic(draw)).sort((a, b) => a - b)
  return [quantile(drawn, 0.025), quantile(drawn, 0.975)]
}
