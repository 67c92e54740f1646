import { type Program, type ProgramOptions, start } from './program.ts'

/** An example server in a process of its own, which has printed its banner. */
export interface ExampleProcess extends Program {
  readonly http: string
  readonly h2c: string
  /** The commands that the banner says to try. */
  readonly examples: readonly string[]
}

/** How to start it by the Node of the tests. */
export const MAIN = [process.execPath, 'example-server/main.ts']

/** The end of the banner, wherever it stands: the log goes to standard output too, before it and after it. */
const TRY_IT = /^Try it\n\n {2}Open .*\n\n(?: {2}.*\n)+\n/m

/** Starts the example server by a command, on free ports, and waits for its banner. */
export async function startExample(
  t: { teardown(run: () => unknown): unknown },
  command: readonly string[],
  { env = process.env, ...options }: ProgramOptions = {},
): Promise<ExampleProcess> {
  const program = start(t, command, { ...options, env: { ...env, PORT: '0' } })
  const [tryIt] = await program.until(TRY_IT)
  const [http, h2c] = program.output().match(/http:\/\/127\.0\.0\.1:\d+/g)!
  const examples = [...tryIt.matchAll(/^ {2}((?:curl|while|printf|npx) .*)$/gm)].map(([, line]) => line!)
  return { ...program, http: http!, h2c: h2c!, examples }
}

/** A command of the banner that ends by itself: a stream is left after a second. */
export const leaveSoon = (example: string): string =>
  example.startsWith('printf') ? `${example} --max-time 1` : example
