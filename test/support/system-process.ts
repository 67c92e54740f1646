import { type Program, type ProgramOptions, start } from './program.ts'

/** One of the small servers of the example in a process of its own, which has printed its banner. */
export interface SystemProcess extends Program {
  readonly url: string
  /** The commands that the banner says to try. */
  readonly examples: readonly string[]
}

/** The end of the banner, wherever it stands: the log goes to standard output too. */
const TRY_IT = /^Try it\n\n(?: {2}.*\n|\n(?= {2}))+\n/m

/** Starts it by a command, on a free port, and waits for its banner. */
export async function startSystem(
  t: { teardown(run: () => unknown): unknown },
  command: readonly string[],
  { env = process.env, ...options }: ProgramOptions = {},
): Promise<SystemProcess> {
  const program = start(t, command, { ...options, env: { ...env, PORT: '0' } })
  const [tryIt] = await program.until(TRY_IT)
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(program.output())![0]
  const examples = [...tryIt.matchAll(/^ {2}((?:curl|while|until|npm|printf) .*)$/gm)].map(([, line]) => line!)
  return { ...program, url, examples }
}
