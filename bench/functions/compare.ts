import type { Series, Target } from '../result.ts'
import { ratioOf } from '../statistics.ts'

/** How many times as fast one series is as another. */
export function timesAsFast(series: readonly Series[], fast: string, slow: string, atLeast: number): Target {
  const what = `${fast}: times as fast as ${slow}`
  return { what, ...ratioOf(roundsOf(series, slow), roundsOf(series, fast)), unit: '×', atLeast }
}

/** How many times the time of another series one takes. */
export function timesTheTime(series: readonly Series[], slow: string, fast: string, atMost: number): Target {
  const what = `${slow}: times the time of ${fast}`
  return { what, ...ratioOf(roundsOf(series, slow), roundsOf(series, fast)), unit: '×', atMost }
}

/** @throws RangeError when there is no such series. */
export function roundsOf(series: readonly Series[], name: string): readonly number[] {
  const found = series.find((one) => one.name === name)
  if (found === undefined) throw new RangeError(`no series ${name}`)
  return found.rounds
}
