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

/** The median of the rounds' ratios, and where it lies with 95 % confidence. */
export function ratioOf(
  figures: readonly number[],
  others: readonly number[],
): { value: number; interval: readonly [number, number] } {
  const ratios = ratiosOf(figures, others)
  return { value: medianOf(ratios), interval: bootstrap(ratios) }
}

const RESAMPLES = 2000

function bootstrap(figures: readonly number[]): readonly [number, number] {
  const random = randomOf(1)
  const medians = Array.from({ length: RESAMPLES }, () =>
    medianOf(figures.map(() => figures[Math.floor(random() * figures.length)]!)),
  ).sort((a, b) => a - b)
  return [quantile(medians, 0.025), quantile(medians, 0.975)]
}
