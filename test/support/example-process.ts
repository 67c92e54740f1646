import type { ChildProcess } from 'node:child_process'

/** An example server in a process of its own, which has printed its banner. */
export interface ExampleProcess {
  readonly child: ChildProcess
  /** All that it has printed up to now. */
  readonly output: () => string
  readonly http: string
  readonly h2c: string
  /** The commands that the banner says to try. */
  readonly examples: readonly string[]
}

/** Waits for the banner of a process that was started with pipes. */
export async function untilBanner(child: ChildProcess): Promise<ExampleProcess> {
  let text = ''
  await new Promise<void>((resolve, reject) => {
    const read = (chunk: Buffer) => {
      text += chunk.toString()
      if (/^Try it\n[\s\S]*\n\n$/m.test(text)) resolve()
    }
    child.stdout!.on('data', read)
    child.stderr!.on('data', read)
    child.once('exit', (code) => reject(new Error(`exit ${code}: ${text}`)))
  })
  const [http, h2c] = text.match(/http:\/\/127\.0\.0\.1:\d+/g)!
  const examples = [...text.matchAll(/^ {2}((?:curl|while|printf) .*)$/gm)].map(([, line]) => line!)
  return { child, output: () => text, http: http!, h2c: h2c!, examples }
}

/** A command of the banner that ends by itself: a stream is left after a second. */
export const leaveSoon = (example: string): string =>
  example.startsWith('printf') ? `${example} --max-time 1` : example
