/** One thing wrong with an options object. */
export interface OptionProblem {
  /** Where, in the spelling that the user wrote: `rateLimits.categories.publish.default[0].count`. */
  readonly path: string
  /** What is allowed there and what was found instead. */
  readonly message: string
}

/**
 * Thrown when options are wrong, while the app starts and never later. The message lists everything that is wrong, one
 * problem a line, each with its path, what is allowed and the value found:
 *
 *     rateLimits.categories.publish.default[0].count: must be a whole number from 1 to 1000000000, got -1
 */
export class AllowanceOptionsError extends Error {
  override readonly name = 'AllowanceOptionsError'
  readonly code = 'ALLOWANCE_OPTIONS'
  /** Path of the first problem. */
  readonly path: string
  /** Every problem, in the order of the lines of the message. At least one. */
  readonly problems: readonly OptionProblem[]

  constructor(problems: readonly [OptionProblem, ...OptionProblem[]]) {
    super(problems.map(({ path, message }) => `${path}: ${message}`).join('\n'))
    this.path = problems[0].path
    this.problems = problems
  }
}
