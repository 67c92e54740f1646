import type { FastifyRequest } from 'fastify'
import type { AllowanceOptions, RouteAllowance } from '../../src/index.ts'
import type { HasToken } from './api-token.ts'

/** What a request costs, in read-equivalent requests. */
export const WRITE_UNITS = 5
export const READ_UNITS = 1

/** Of one client and of all of them, for each CPU, in read-equivalent requests per second. */
const CLIENT_PER_CPU = 1000
export const GLOBAL_PER_CPU = 10_000

/** The largest limit that the plugin takes. */
export const MAX_REQUESTS_PER_SECOND = 1_000_000_000

const STREAMS = 'streams'
export const STREAMS_PER_CLIENT = 256

export interface LimitsConfig {
  cpus: number
  /** Of one client; 0: neither its requests nor its open streams are limited. Default: by the CPUs. */
  requestsPerSecond?: number
}

/** The limit per client in force; 0: none. */
export function clientLimit({ cpus, requestsPerSecond = cpus * CLIENT_PER_CPU }: LimitsConfig): number {
  return requestsPerSecond
}

/**
 * The document's limits, as options of the plugin. Nothing needs an identity: a client is the address of its connection,
 * and the global limits go by the token in the request.
 */
export function limitOptions(config: LimitsConfig, hasToken: HasToken): Omit<AllowanceOptions, 'domain'> {
  const perSecond = clientLimit(config)
  const global = [{ count: config.cpus * GLOBAL_PER_CPU, windowSeconds: 1 }]
  return {
    // Forwarded headers are not trusted, and no category but the bounds' own limits anybody.
    rateLimits: { trustedProxies: [], categories: { request: { default: [] } } },
    bounds: [
      ...(perSecond === 0 ? [] : [{ name: 'client', per: 'address' as const, limits: [perClient(perSecond)] }]),
      {
        name: 'global-with-token',
        per: 'everyone',
        appliesTo: (request: FastifyRequest) => !isProbe(request) && hasToken(request),
        limits: global,
      },
      {
        name: 'global-without-token',
        per: 'everyone',
        appliesTo: (request: FastifyRequest) => !isProbe(request) && !hasToken(request),
        limits: global,
      },
    ],
    // When the limits of clients are off, no route takes it.
    holds: [{ name: STREAMS, per: 'address', count: STREAMS_PER_CLIENT, retryDelaySeconds: 1 }],
    // The files of the page, the definitions, the profiles; the routes of the API say it themselves.
    routes: { charges: READ_UNITS },
    notFound: { charges: READ_UNITS },
    rateLimitHeaders: { fields: 'draft-11', always: true },
  }
}

/** What a route of the API costs, and whether it keeps one of the client's streams open. */
export function routeAllowance(
  { writes = false, streams = false }: { writes?: boolean; streams?: boolean },
  config: LimitsConfig,
): RouteAllowance {
  return {
    charges: writes ? WRITE_UNITS : READ_UNITS,
    ...(streams && clientLimit(config) !== 0 && { holds: [STREAMS] }),
  }
}

/** A limit so small that no write would ever fit is kept over five seconds instead of one. */
function perClient(perSecond: number) {
  return perSecond < WRITE_UNITS
    ? { count: perSecond * WRITE_UNITS, windowSeconds: WRITE_UNITS }
    : { count: perSecond, windowSeconds: 1 }
}

/** Ping and health, which a flood must not starve. */
function isProbe(request: FastifyRequest): boolean {
  return request.routeOptions.config.probe === true
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Exempt from the global limits. */
    probe?: boolean
  }
}
