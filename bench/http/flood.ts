import type { Child } from '../processes/child.ts'
import { quantile } from '../statistics.ts'
import { requestOf, unaryConnect } from './bodies.ts'
import { CALLER_HEADER } from './callers.ts'
import { h2load } from './h2load.ts'
import { stateOf } from './server.ts'

export interface Flooded {
  readonly http2: boolean
  readonly folder: string
  readonly seconds: number
  /** Large requests of one caller. */
  readonly flood?: { readonly caller: string; readonly requestsPerSecond: number }
}

const FLOOD_BODY_BYTES = 64 * 1024
const FLOOD_CONNECTIONS = 16
const OTHER_BODY_BYTES = 100
const OTHER_CONNECTIONS = 4
/** Of each connection. */
const OTHER_REQUESTS_PER_SECOND = 75
/** Not a divisor of the interval of a connection's requests, so that those of all connections are spread over it. */
const APART_MS = 11
/** How long a flood is there before, ms: all of its connections. */
const BEFORE_MS = 200

/** The 99th percentile, in ms, of the time that the RPCs of another caller take, which are small, few, and all admitted. */
export async function p99UnderFlood(server: Child, { http2, folder, seconds, flood }: Flooded): Promise<number> {
  const { port } = await stateOf(server, 0)
  const flooding =
    flood &&
    h2load({
      http2,
      port,
      request: requestOf(unaryConnect, FLOOD_BODY_BYTES, folder),
      headers: { [CALLER_HEADER]: flood.caller },
      requests: Math.ceil(flood.requestsPerSecond * (seconds + (2 * BEFORE_MS) / 1000)),
      connections: FLOOD_CONNECTIONS,
      streams: 8,
      requestsPerSecond: Math.max(1, Math.round(flood.requestsPerSecond / FLOOD_CONNECTIONS)),
      apartMs: APART_MS,
    })
  await new Promise((resolve) => setTimeout(resolve, BEFORE_MS))
  const others = h2load({
    http2,
    port,
    request: requestOf(unaryConnect, OTHER_BODY_BYTES, folder),
    headers: { [CALLER_HEADER]: 'other' },
    requests: Math.ceil(seconds * OTHER_CONNECTIONS * OTHER_REQUESTS_PER_SECOND),
    connections: OTHER_CONNECTIONS,
    streams: 16,
    requestsPerSecond: OTHER_REQUESTS_PER_SECOND,
    apartMs: APART_MS,
  })
  const [{ latenciesMs }] = await Promise.all([others, flooding])
  return quantile(
    [...latenciesMs].sort((a, b) => a - b),
    0.99,
  )
}
