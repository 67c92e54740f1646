import { AllowanceOptionsError } from '../../src/policy/options-error.ts'

/** The lines of the error with which options are refused. */
export function linesOf(parse: () => unknown): string[] {
  try {
    parse()
  } catch (error) {
    if (error instanceof AllowanceOptionsError) return error.message.split('\n')
    throw error
  }
  throw new Error('was accepted')
}
