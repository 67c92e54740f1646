import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'

/** Reads the arguments of a program, which are all options; what is wrong goes to `problems`. */
export function readArguments<const T extends ParseArgsOptionsConfig>(
  args: readonly string[],
  options: T,
  problems: string[],
): Partial<ReturnType<typeof parseArgs<{ options: T }>>['values']> {
  try {
    return parseArgs({ args: [...args], options }).values
  } catch (error) {
    const allowed = Object.keys(options).map((name) => `--${name}`)
    problems.push(`arguments: ${(error as Error).message.split('. ', 1)[0]}; allowed: ${allowed.join(', ')}`)
    return {}
  }
}
