import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  type BoundOptions,
  type Clock,
  createLimiter,
  type Denial,
  type ExceededLimit,
  type Limit,
  type Limiter,
} from '../../src/index.ts'
import { type Counts, type RelayLimits, WINDOWS, type WindowName } from './settings.ts'
import type { Submission } from './submission.ts'

const MAX_SENDERS = 100_000
const SECONDS = { minute: 60, hour: 3600, day: 86_400 } as const

/** What a client reads in a 429. */
export interface RateLimitExceeded {
  error: 'rate_limit_exceeded'
  scope: 'sender' | 'global'
  window: WindowName
  /** What the window admits; 0 where everything is blocked. */
  limit: number
  /** When that limit next admits, in UTC, rounded up to the second; null: never. */
  reset_at: string | null
}

/**
 * The two bounds, in the order of the document: a request that its sender's refuses does not count in the global one. Both
 * are there before anything is known of the sender but the name that it claims.
 * @param maxSenders How many senders are remembered at a time; of more, those are forgotten whose counters are the first to
 * be full again. Default 100,000.
 */
export function createRelayLimiter({ sender, global }: RelayLimits, clock: Clock, maxSenders = MAX_SENDERS): Limiter {
  const bounds: BoundOptions<FastifyRequest>[] = [
    { name: 'sender', per: claimedSender, limits: limitsOf(sender), maxKeys: maxSenders },
    { name: 'global', per: 'everyone', limits: limitsOf(global) },
  ]
  return createLimiter({ rateLimits: { categories: { request: { default: [] } } }, bounds, clock })
}

/** Nothing where no body was read, or one that names no sender: that counts in the global bound alone. */
function claimedSender(request: FastifyRequest): string | undefined {
  return (request.body as Submission | undefined)?.sender
}

function limitsOf(counts: Counts): Limit[] {
  return WINDOWS.flatMap((window): Limit[] => {
    const count = counts[window]
    if (count === 0) return []
    if (count === -1) return [{ kind: 'blocked' }]
    return [{ kind: window === 'minute' ? 'earned_back' : 'sliding_window', count, windowSeconds: SECONDS[window] }]
  })
}

/** Makes the body of a refusal, of the first limit that was exceeded. */
export function rejectionRenderer(limits: RelayLimits, clock: Clock) {
  return (denial: Denial, _request: FastifyRequest, reply: FastifyReply): Buffer => {
    const { bound, limit, retryDelayMs } = denial.exceeded[0]!
    const scope = bound as keyof RelayLimits
    const body: RateLimitExceeded = {
      error: 'rate_limit_exceeded',
      scope,
      window: windowOf(limit, limits[scope]),
      limit: 'count' in limit ? limit.count : 0,
      reset_at: retryDelayMs === null ? null : wholeSecond(clock.wall() + retryDelayMs),
    }
    reply.header('content-type', 'application/json')
    // Of a text Fastify would say its charset, which JSON does not have.
    return Buffer.from(JSON.stringify(body))
  }
}

function windowOf(limit: ExceededLimit['limit'], counts: Counts): WindowName {
  const isIt = (window: WindowName) =>
    limit.kind === 'blocked'
      ? counts[window] === -1
      : 'windowSeconds' in limit && limit.windowSeconds === SECONDS[window]
  return WINDOWS.find(isIt)!
}

/** The next whole second in UTC: waiting until then is waiting long enough. */
function wholeSecond(unixMs: number): string {
  return new Date(Math.ceil(unixMs / 1000) * 1000).toISOString().replace('.000Z', 'Z')
}
