/**
 * Why the server cannot start: what a person who starts it can put right. Each problem is one line that names where, the
 * value found and what is allowed. The value of a secret is never shown.
 */
export class StartProblem extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.name = 'StartProblem'
    this.problems = problems
  }
}
