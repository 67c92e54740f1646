import { setTimeout } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { StartProblem } from './problem.ts'

/** How long running requests may take to finish when a server is told to stop. */
const GRACE_MS = 5000

/** Where a server listens. */
export interface ListenAddress {
  host: string
  /** 0: any free port. */
  port: number
}

/** Reads `HOST` (default 127.0.0.1) and `PORT` (default 5050); what is wrong goes to `problems`. */
export function readListenAddress(env: NodeJS.ProcessEnv, problems: string[]): ListenAddress {
  if (env.HOST === '') problems.push('HOST: must be an address or the name of a host, got ""')
  return { host: env.HOST ?? '127.0.0.1', port: readPort('PORT', env.PORT, 5050, problems) }
}

export function readPort(name: string, text: string | undefined, otherwise: number, problems: string[]): number {
  if (text === undefined) return otherwise
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text)
  problems.push(`${name}: must be a whole number from 0 to 65535 (0: any free port), got ${JSON.stringify(text)}`)
  return 0
}

/**
 * Starts a server; returns its URL, with the real port. When it cannot listen, it is closed.
 * @throws {StartProblem} when it cannot.
 */
export function listenAt(app: FastifyInstance, address: ListenAddress): Promise<string> {
  // Fastify would log the address.
  const listening = app.listen({ ...address, listenTextResolver: () => 'listening' })
  return orStartProblem('PORT, HOST', address.host, listening, () => app.close())
}

/** Waits for servers that are to listen, and makes a StartProblem of the reason why one cannot; then `close` is called. */
export async function orStartProblem<T>(
  settings: string,
  host: string,
  listening: Promise<T>,
  close: () => unknown,
): Promise<T> {
  try {
    return await listening
  } catch (error) {
    await close()
    const { code, port, syscall } = error as NodeJS.ErrnoException & { port?: number }
    if (code === undefined || syscall === undefined) throw error
    const what = syscall === 'listen' ? `port ${port} of ${JSON.stringify(host)}` : JSON.stringify(host)
    const why = code === 'EADDRINUSE' ? 'in use already: set PORT to another' : code
    throw new StartProblem([`${settings}: must be where this server can listen, got ${what} (${why})`])
  }
}

/** On SIGTERM or SIGINT: closes, which lets running requests finish for up to 5 s, and ends the process with code 0. */
export function stopOnSignals(close: () => Promise<unknown>): void {
  const stop = async () => {
    const late = new AbortController()
    const closed = close().then(() => late.abort())
    await Promise.race([closed, setTimeout(GRACE_MS, undefined, { signal: late.signal }).catch(() => {})])
    process.exit(0)
  }
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
}

/** Runs the start of a program. A StartProblem is printed, one line for each problem, and becomes the exit code 1. */
export async function run(start: () => Promise<void>): Promise<void> {
  try {
    await start()
  } catch (error) {
    if (!(error instanceof StartProblem)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exitCode = 1
  }
}
