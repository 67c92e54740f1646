import { parseDuration } from '../../src/index.ts'
import type { Report } from '../config-values.ts'
import { show } from './config-fields.ts'

/** Below a second a sliding window measures jitter; a day and more is a quota, which would have to survive a restart. */
const BOUNDS = { min: 1, max: 86_400 }

/** The seconds of a window, in ISO 8601, or undefined, reported. */
export function windowSecondsOf(value: unknown, path: string, report: Report): number | undefined {
  const seconds = isoSeconds(value)
  if (seconds === undefined) {
    report(path, `must be an ISO 8601 duration from PT1S to P1D, in whole seconds, got ${show(value)}`)
  }
  return seconds
}

function isoSeconds(value: unknown): number | undefined {
  if (typeof value !== 'string' || !value.startsWith('P')) return undefined
  try {
    return parseDuration(value, BOUNDS)
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}
