import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Request } from './bodies.ts'
import { withFolder } from './folder.ts'

/** How hard a server is asked. */
export interface Load {
  readonly http2: boolean
  readonly port: number
  readonly request: Request
  readonly headers?: Readonly<Record<string, string>>
  readonly requests: number
  readonly connections: number
  /** At a time on each connection, over HTTP/2. Over HTTP/1.1 it is one. */
  readonly streams: number
  /** Of each connection. Default: the next request as soon as there is an answer. */
  readonly requestsPerSecond?: number
  /**
   * Ms from the start of a connection to that of the next. Default: all start at once. At a rate, what connections send is
   * evenly spread only if they start apart: each sends at equal intervals from its start.
   */
  readonly apartMs?: number
}

export interface LoadResult {
  readonly requestsPerSecond: number
  /** Until the end of each response, ms. */
  readonly latenciesMs: readonly number[]
}

/** Asks a server by h2load. @throws Error when not every request has been answered. */
export function h2load(load: Load): Promise<LoadResult> {
  const { http2, port, request, requests, connections, streams, requestsPerSecond, apartMs } = load
  return withFolder(async (folder) => {
    const logFile = join(folder, 'log')
    const headers = Object.entries({ ...request.headers, ...load.headers })
    const { stdout } = await promisify(execFile)('h2load', [
      ...(http2 ? [`--max-concurrent-streams=${streams}`] : ['--h1']),
      `--requests=${requests}`,
      `--clients=${Math.min(connections, requests)}`,
      ...(requestsPerSecond === undefined ? [] : [`--rps=${requestsPerSecond}`]),
      ...(apartMs === undefined ? [] : ['--rate=1', `--rate-period=${apartMs}ms`]),
      `--data=${request.bodyFile}`,
      ...headers.map(([name, value]) => `--header=${name}: ${value}`),
      `--log-file=${logFile}`,
      `http://127.0.0.1:${port}${request.path}`,
    ])
    return { requestsPerSecond: rateIn(stdout, requests), latenciesMs: latenciesIn(readFileSync(logFile, 'utf8')) }
  })
}

function rateIn(report: string, requests: number): number {
  const rate = /^finished in [^,]+, ([\d.]+) req\/s/m.exec(report)?.[1]
  // What is refused with a status of its own counts as failed, not as an error.
  const done = /^requests: .* (\d+) done, .* 0 errored, 0 timeout$/m.exec(report)?.[1]
  if (rate === undefined || Number(done) !== requests)
    throw new Error(`h2load: not every request was answered\n${report}`)
  return Number(rate)
}

/** Lines of start, status, and µs until the end of the response. */
function latenciesIn(log: string): number[] {
  return log
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => Number(line.split('\t')[2]) / 1000)
}
