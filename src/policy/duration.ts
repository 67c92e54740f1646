import parseHuman from 'parse-duration'
import { parse as parseIso } from 'tinyduration'
import { z } from 'zod'
import { mustBe } from './option-schema.ts'

/** The least and the most that a duration may be, in whole seconds. */
export interface DurationBounds {
  /** A whole number from 0. Default 1. */
  readonly min?: number | undefined
  /** A whole number. Default 9,007,199,254,740: in ms it is still a safe integer. */
  readonly max?: number | undefined
}

// Both libraries read more than is meant: tinyduration "PT1M " and "P1DT", parse-duration "P1M" as a minute, "1h -20min" as
// 80 minutes and "1h20" as 80, too. What is a duration is said here, and how long it is by them.
const WHOLE_SECONDS = /^\d+$/
const ISO = /^P(?=\d|T\d)(?:\d+W)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+S)?)?$/
const HUMAN_UNITS = ['w|wks?|weeks?', 'd|days?', 'h|hrs?|hours?', 'm|mins?|minutes?', 's|secs?|seconds?', 'ms']
const HUMAN = new RegExp(`^(?=\\d)${HUMAN_UNITS.map((unit) => `(?:\\d+ ?(?:${unit})(?:$| ?(?=\\d)))?`).join('')}$`)
const OF_NO_FIXED_LENGTH = /^-?P[^T]*[YM]|\d ?(?:y|yrs?|years?|mo|mths?|months?)(?![a-z])/

const LONGEST_SECONDS = Math.floor(Number.MAX_SAFE_INTEGER / 1000)

/**
 * Reads a duration, as config files write it, to whole seconds: a number of seconds (60), or a string of whole seconds
 * ("60"), of ISO 8601 ("PT1M", "P1DT12H") or of numbers with units ("15min", "1h 20min"), each unit once, the longest first.
 * Numbers are whole; months and years, which have no fixed length, negative durations and white space around are refused.
 *
 * @param bounds In seconds, both included. Default: from 1.
 * @throws RangeError for anything else. It says what is allowed and what was found, to be put after the name of the option.
 */
export function parseDuration(text: number | string, bounds: DurationBounds = {}): number {
  const { min = 1, max = LONGEST_SECONDS } = bounds
  const seconds = typeof text === 'string' ? secondsOf(text) : text
  if (Number.isInteger(seconds) && seconds >= min && seconds <= max) return seconds
  const calendar = typeof text === 'string' && OF_NO_FIXED_LENGTH.test(text)
  const why = calendar ? '; months and years have no fixed length' : ''
  throw new RangeError(mustBe(durationFrom(min, max))({ input: text }) + why)
}

/** Schema of a duration between two numbers of seconds. Comes out in seconds. */
export function duration(min: number, max: number) {
  return z.unknown().transform((written, ctx): number => {
    try {
      return parseDuration(written as number | string, { min, max })
    } catch (error) {
      ctx.addIssue((error as Error).message)
      return z.NEVER
    }
  })
}

function durationFrom(min: number, max: number): string {
  return `a duration from ${min} to ${max} whole seconds, such as 60, "PT1M" or, in whole numbers and small letters, "1h 20min"`
}

function secondsOf(text: string): number {
  if (WHOLE_SECONDS.test(text)) return Number(text)
  if (ISO.test(text)) {
    const { weeks = 0, days = 0, hours = 0, minutes = 0, seconds = 0 } = parseIso(text)
    return (((weeks * 7 + days) * 24 + hours) * 60 + minutes) * 60 + seconds
  }
  return HUMAN.test(text) ? parseHuman(text)! / 1000 : Number.NaN
}
