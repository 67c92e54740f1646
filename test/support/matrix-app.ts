import type { ServiceImpl } from '@connectrpc/connect'
import { fastifyConnectPlugin } from '@connectrpc/connect-fastify'
import Fastify, { type FastifyInstance, type FastifyRequest, type FastifyServerOptions } from 'fastify'
import allowance, {
  type AllowanceOptions,
  allowanceOf,
  type ConnectOptions,
  type Limiter,
  type ManualClock,
  manualClock,
} from '../../src/index.ts'
import { MatrixService } from '../gen/test/v1/matrix_pb.ts'
import { apiKey, limitsOf } from './limiter-of.ts'

export interface Teardown {
  teardown(run: () => unknown): unknown
}

export const domain = 'xmtp.org'

/** Limits of every caller by category, in the spelling of the issue: `rateLimits({ request: '2/3' })`. */
export const rateLimits = (spelled: Record<string, string>): NonNullable<AllowanceOptions['rateLimits']> => ({
  maxMemoryMib: 1,
  categories: Object.fromEntries(
    Object.entries({ work: '1000000/60', step: '1000000/60', ...spelled }).map(([name, limits]) => [
      name,
      { default: limitsOf(limits) },
    ]),
  ),
})

/** Who a request is from: the API key named by its header `x-caller`, or else its address. */
export const callerHeader = (request: FastifyRequest) => {
  const name = request.headers['x-caller']
  return typeof name === 'string' ? apiKey(name) : undefined
}

/** The service of the tests. Records which handlers ran; spends one `step` at the end of a call that has the header `x-step`. */
export const matrixService = (called: string[] = []): ServiceImpl<typeof MatrixService> => {
  const step = async (context: Parameters<typeof allowanceOf>[0] & { requestHeader: Headers }) => {
    if (context.requestHeader.has('x-step')) await allowanceOf(context).spend('step', 1)
  }
  return {
    async unary({ items }, context) {
      called.push('Unary')
      await step(context)
      return { text: `${items.length} items` }
    },
    async *serverStream({ items }, context) {
      called.push('ServerStream')
      yield { text: `${items.length} items` }
      await step(context)
    },
    async clientStream(messages, context) {
      called.push('ClientStream')
      let count = 0
      for await (const { items } of messages) count += items.length
      await step(context)
      return { text: `${count} items` }
    },
    async *bidi(messages, context) {
      called.push('Bidi')
      for await (const { items } of messages) yield { text: `${items.length} items` }
      await step(context)
    },
    undeclared() {
      called.push('Undeclared')
      return {}
    },
    free() {
      called.push('Free')
      return {}
    },
    async step(_message, context) {
      called.push('Step')
      await allowanceOf(context).spend('step', 1)
      return {}
    },
  }
}

export interface MatrixAppOptions {
  readonly http2?: boolean
  readonly limits?: Record<string, string>
  /** More options of the plugin, or others. */
  readonly allowance?: Partial<AllowanceOptions>
  readonly fastify?: FastifyServerOptions
  /** More options of connect-fastify, or others. */
  readonly connect?: Partial<ConnectOptions>
  readonly clock?: ManualClock
  /** Runs before the plugin is registered. */
  readonly before?: (app: FastifyInstance) => unknown
  /** Runs after all else is registered. */
  readonly after?: (app: FastifyInstance) => unknown
}

export interface MatrixApp {
  readonly app: FastifyInstance
  readonly clock: ManualClock
  readonly limiter: Limiter
  /** The RPCs whose handlers ran. */
  readonly called: string[]
  /** Units of a category left to the API key `name`, of its first limit. */
  left(name: string, category?: string): number
}

/** A Fastify of which h2c is asked or not, in the type of one of which it is not. */
export const createFastify = (http2: boolean, options: FastifyServerOptions = {}): FastifyInstance =>
  Fastify({ ...options, http2 } as FastifyServerOptions)

/** An app with the plugin and the service of the tests, ready but not listening. Its time stands still until `clock` is moved. */
export async function matrixApp(t: Teardown, options: MatrixAppOptions = {}): Promise<MatrixApp> {
  const clock = options.clock ?? manualClock()
  const called: string[] = []
  const app = createFastify(options.http2 ?? false, options.fastify)
  t.teardown(() => app.close())
  await options.before?.(app)
  await app.register(allowance, {
    domain,
    identify: callerHeader,
    ...(options.allowance?.limiter === undefined && { clock, rateLimits: rateLimits(options.limits ?? {}) }),
    ...options.allowance,
  })
  const routes: ConnectOptions['routes'] = (router) => router.service(MatrixService, matrixService(called))
  await app.register(fastifyConnectPlugin, app.allowance.connect({ routes, ...options.connect }))
  await options.after?.(app)
  await app.ready()
  const { limiter } = app.allowance
  const left = (name: string, category = 'request') => limiter.remaining(apiKey(name), category)[0]!.units
  return { app, clock, limiter, called, left }
}

/** The same, listening on the loopback. */
export async function listeningMatrixApp(t: Teardown, options: MatrixAppOptions = {}) {
  const built = await matrixApp(t, options)
  const url = await built.app.listen({ host: '127.0.0.1', port: 0 })
  return { ...built, url, port: Number(new URL(url).port) }
}

/** The path of an RPC of the service. */
export const pathOf = (rpc: string) => `/${MatrixService.typeName}/${rpc}`
