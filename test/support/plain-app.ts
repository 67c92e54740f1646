import type { FastifyInstance, FastifyServerOptions, InjectOptions, LightMyRequestResponse } from 'fastify'
import allowance, { type AllowanceOptions } from '../../src/index.ts'
import { limitsOf } from './limiter-of.ts'
import { callerHeader, createFastify, domain, type Teardown } from './matrix-app.ts'
import { type WatchedClock, watchedClock } from './watched-clock.ts'

export interface PlainAppOptions {
  /** Limits of every caller by category, in the spelling of the issue. */
  readonly limits?: Record<string, string>
  readonly allowance?: Partial<AllowanceOptions>
  readonly fastify?: FastifyServerOptions
  readonly http2?: boolean
  /** Runs before the plugin is registered. */
  readonly before?: (app: FastifyInstance) => unknown
  /** Adds the routes. */
  readonly routes: (app: FastifyInstance) => unknown
}

/** An app with the plugin and plain routes only. Its time stands still until `clock` is moved; its errors are in `log`. */
export async function plainApp(t: Teardown, options: PlainAppOptions) {
  const clock: WatchedClock = watchedClock()
  const log: { level: number; msg: string; err?: { message: string } }[] = []
  const logger = { level: 'warn', stream: { write: (line: string) => void log.push(JSON.parse(line)) } }
  const app = createFastify(options.http2 ?? false, { logger, ...options.fastify })
  t.teardown(() => app.close())
  await options.before?.(app)
  const { limits = { request: '1000/60' } } = options
  const categories = Object.fromEntries(
    Object.entries(limits).map(([name, spelled]) => [name, { default: spelled === '' ? [] : limitsOf(spelled) }]),
  )
  await app.register(allowance, {
    domain,
    identify: callerHeader,
    ...(options.allowance?.limiter === undefined && { clock, rateLimits: { maxMemoryMib: 8, categories } }),
    ...options.allowance,
  })
  await options.routes(app)
  const { limiter } = app.allowance

  /** Asks by GET, or as said, as the caller `a`. */
  const ask = (url: string, more: InjectOptions = {}): Promise<LightMyRequestResponse> =>
    app.inject({ url, ...more, headers: { 'x-caller': 'a', ...more.headers } })
  /** The same so many times, and returns how many were answered with each status, in order: `200 200 429`. */
  const statuses = async (times: number, url: string, more: InjectOptions = {}): Promise<string> => {
    const seen: number[] = []
    for (let i = 0; i < times; i++) seen.push((await ask(url, more)).statusCode)
    return seen.join(' ')
  }
  /** What is left to a caller on the loopback under the limits of its category and the plugin's bounds, in their order. */
  const left = (name = 'a', category = 'request') => {
    const caller = limiter.resolve({ type: 'api_key', name }, { address: '127.0.0.1' })
    return limiter.remaining(caller, category).map(({ units }) => units)
  }
  return { app, clock, log, limiter, ask, statuses, left }
}

/** The same, listening on the loopback. */
export async function listeningPlainApp(t: Teardown, options: PlainAppOptions) {
  const built = await plainApp(t, options)
  const url = await built.app.listen({ host: '127.0.0.1', port: 0 })
  return { ...built, url, port: Number(new URL(url).port) }
}

export const everyone = (limits: string, name = 'all') => ({ name, per: 'everyone', limits: limitsOf(limits) }) as const
