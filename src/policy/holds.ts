import { z } from 'zod'
import { MAX_COUNT, MAX_WINDOW_SECONDS } from '../limit/ranges.ts'
import { DEFAULT_MAX_KEYS } from './bounds.ts'
import { always, isPlainObject, mustBe, optionsObject, parseOptions, wholeNumber } from './option-schema.ts'
import { checkNames, checkTarget, type Target, targetOf, targetShape } from './target.ts'

/** What is kept open rather than spent: checked, with defaults filled in, frozen. */
export interface Hold<Request> extends Target<Request> {
  /** How many may be open at a time for each key. */
  readonly count: number
  readonly retryDelaySeconds: number
  /** How many keys are counted apart at a time. */
  readonly maxKeys: number
}

const MAX_KEYS = 1_000_000

const hold = optionsObject({
  ...targetShape,
  count: wholeNumber(1, MAX_COUNT),
  retryDelaySeconds: wholeNumber(1, MAX_WINDOW_SECONDS),
  maxKeys: wholeNumber(1, MAX_KEYS).default(DEFAULT_MAX_KEYS),
}).superRefine((written, ctx) => {
  if (isPlainObject(written)) checkTarget(written, ctx)
}, always)

/** Schema of a list of holds. Comes out frozen. */
export function holdsOption<Request>() {
  return z
    .array(hold, { error: mustBe('a list of holds') })
    .superRefine(checkNames, always)
    .transform((holds): readonly Hold<Request>[] =>
      Object.freeze(
        holds.map((written) => {
          const { count, retryDelaySeconds, maxKeys } = written
          return Object.freeze({ ...targetOf<Request>(written), count, retryDelaySeconds, maxKeys })
        }),
      ),
    )
}

/**
 * Checks a list of holds and fills in defaults. Only reads `input`.
 * @param path What the user calls the list: the start of each path in an error.
 * @throws AllowanceOptionsError listing every problem.
 */
export function parseHolds<Request>(input: unknown, path = 'holds'): readonly Hold<Request>[] {
  return parseOptions(holdsOption<Request>(), input, path)
}
