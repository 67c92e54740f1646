import { aFunction, type Rule } from './check-options.ts'
import type { ClientClock } from './clock.ts'
import type { Rejection } from './rejection.ts'

/** How a client takes rejections. */
export interface RetryOptions {
  /**
   * Whose rejections it acts on: the `domain` that the server was given, e.g. `example.com`. Every other error is handed
   * on as it is. Required.
   */
  readonly domain: string

  /**
   * How often a call is sent in all, the first time included; then the rejection is handed on. A whole number, 1 or more;
   * 1: never again. Default 3.
   */
  readonly maxTries?: number | undefined

  /**
   * Milliseconds that a call waits in all. A rejection whose delay is longer than what is left of them, or than the time
   * to the call's deadline, is handed on at once. 0 or more; may be Infinity. Default 60,000.
   */
  readonly maxWaitMs?: number | undefined

  /**
   * Up to so many milliseconds are added to each wait, at random, so that clients do not come back all at once; less where
   * the call has no time for so much. 0 or more. Default: a tenth of the wait, at most 1000.
   */
  readonly jitterMs?: number | undefined

  /**
   * Milliseconds to wait after a rejection that sets no minimum wait (no RetryInfo, or a delay of zero or less). Doubles
   * with each further one, up to 10,000; a rejection that sets a delay ends the doubling. 1 or more. Default 100.
   */
  readonly backoffMs?: number | undefined

  /** Where the time comes from, for tests. Default: `performance.now` and `setTimeout`. */
  readonly clock?: ClientClock | undefined
}

/** A wait that begins. */
export interface Wait {
  /** What is waited for. */
  readonly rejection: Rejection
  /** Milliseconds from now until the call is sent again: the delay and the jitter. */
  readonly waitMs: number
  /** How often the call was sent so far. 0: it is held back for another call's rejection. */
  readonly tries: number
}

const milliseconds = (allowed: string, min: number, max = Infinity): Rule => [
  `a number of milliseconds, ${allowed}`,
  (value) => typeof value === 'number' && value >= min && value <= max,
]

export const retryRules: Readonly<Record<keyof RetryOptions, Rule>> = {
  domain: ['a name such as "example.com"', (value) => typeof value === 'string' && value !== ''],
  maxTries: ['a whole number, 1 or more', (value) => Number.isSafeInteger(value) && (value as number) >= 1],
  maxWaitMs: milliseconds('0 or more', 0),
  jitterMs: milliseconds('0 or more and finite', 0, Number.MAX_VALUE),
  backoffMs: milliseconds('1 or more and finite', 1, Number.MAX_VALUE),
  clock: [
    'an object with the methods now, which returns a number, and schedule',
    (value) => {
      const { now, schedule } = (value ?? {}) as Partial<ClientClock>
      return aFunction[1](now) && aFunction[1](schedule) && typeof (value as ClientClock).now() === 'number'
    },
  ],
}
