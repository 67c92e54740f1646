import type { DescMethod } from '@bufbuild/protobuf'
import { Code, ConnectError, type ConnectRouter } from '@connectrpc/connect'
import type { fastifyConnectPlugin } from '@connectrpc/connect-fastify'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { categoryTable, formatCategoryTable } from './charge/category-table.ts'
import { parseChargesOption } from './charge/charges-option.ts'
import { isClientStreaming } from './charge/rpc-plan.ts'
import { answerErrors } from './connect/answer-errors.ts'
import { chargeRequest } from './connect/charge-request.ts'
import { ValuesWithAllowance } from './connect/context.ts'
import { endCalls } from './connect/end-calls.ts'
import { HandlerAllowance } from './connect/handler-allowance.ts'
import { RouteWatch } from './connect/route-watch.ts'
import { chargingOf, type RpcCharging } from './connect/rpc-charges.ts'
import { type WiredRpc, wireRoutes } from './connect/wired-routes.ts'
import type { AnswerOptions } from './http/answer.ts'
import { checkCharged, PlainRoutes } from './http/plain-routes.ts'
import type { RouteAllowance } from './http/route-terms.ts'
import { createLimiter, type Limiter, type LimiterOptions, type ResolvedCaller } from './limiter/limiter.ts'
import type { Hold, Reservation } from './limiter/reservation.ts'
import { type AllowanceOptions, checkConnectOptions, parseAllowanceOptions } from './plugin-options.ts'
import { AllowanceOptionsError } from './policy/options-error.ts'
import { DenialEncoder } from './rejection/encoded-denial.ts'
import { Patience } from './rejection/patience.ts'
import { IdentitySpelling } from './request/identity-spelling.ts'
import { type AllowanceServices, RequestAllowance } from './request/request-allowance.ts'
import { Streams } from './stream/streams.ts'
import { warnAboutTrustProxy } from './trust-proxy-warning.ts'

/** The options of connect-fastify's plugin. */
export type ConnectOptions = Parameters<typeof fastifyConnectPlugin>[1]

/** What the plugin decorates the Fastify instance with. */
export interface AppAllowance {
  /** What every caller may spend and has spent. */
  readonly limiter: Limiter

  /**
   * Wires the allowance into the options of connect-fastify's plugin:
   * `app.register(fastifyConnectPlugin, app.allowance.connect({ routes }))`. Every RPC that `routes` registers is charged
   * then, and its handler finds its allowance by `allowanceOf(context)`. Once for each registration.
   * @throws AllowanceOptionsError when `routes` is no function.
   */
  connect(options: ConnectOptions): ConnectOptions

  /**
   * What every RPC costs that is implemented, as a table in plain text. RPCs only: plain routes are not in it. Complete once the
   * app is ready.
   */
  categoryTable(): string
}

declare module 'fastify' {
  interface FastifyInstance {
    allowance: AppAllowance
  }
  interface FastifyContextConfig {
    /** What this plain HTTP route costs, and what bounds it. Default: the plugin's option `routes`. */
    allowance?: RouteAllowance | undefined
  }
  interface FastifyRequest {
    /** The caller that this request is charged to; undefined until it is known. */
    readonly caller: ResolvedCaller | undefined
    /**
     * Spends `cost` units (0 … 2⁵³ − 1) of `category`. Resolves, or throws the ConnectError to let through; a RangeError
     * for a category that is not declared or a cost that is no such number.
     */
    spend(category: string, cost: number): Promise<void>
    /** Takes the room for `cost` units of `category`, to be committed or released; released when the response ends. Throws as `spend` does. */
    reserve(category: string, cost: number): Promise<Reservation>
    /** Takes one of the places of a hold until it is released or the response ends. Throws as `spend` does. */
    hold(name: string): Promise<Hold>
  }
}

const allowanceOfRequest = Symbol('fastify-allowance.request')
const replyOfRequest = Symbol('fastify-allowance.reply')
type WithAllowance = FastifyRequest & {
  [allowanceOfRequest]: RequestAllowance | null
  [replyOfRequest]: FastifyReply | null
}

/** What Fastify prints of a server without routes. */
const NO_ROUTES = '(empty tree)'

/** The category that every charged RPC spends one unit of, before anything else (RATE-014). */
const REQUEST_CATEGORY = 'request'

async function allowance(app: FastifyInstance, given: AllowanceOptions): Promise<void> {
  if (app.hasDecorator('allowance')) {
    throw new Error('fastify-allowance is registered in this scope already: every request would be charged twice')
  }
  const options = parseAllowanceOptions(given)
  const { rateLimits, bounds, holds, clock } = options
  const limiter = options.limiter ?? createLimiter({ rateLimits, bounds, holds, clock } as LimiterOptions)
  const { identify, onDenied, domain } = options
  const services: AllowanceServices = {
    limiter,
    identify,
    identitySpelling: new IdentitySpelling(),
    onDenied,
    domain,
    hasBounds: limiter.accounts.boundNames([]).length > 0,
    replyTo: (request) => (request as WithAllowance)[replyOfRequest],
  }
  const declaredCharges = parseChargesOption(options.charges, limiter.policy.categories)
  const requestCategory = limiter.categoryId(REQUEST_CATEGORY)
  const streams = {
    streams: new Streams(limiter.clock, options.streams, tooManyStreams),
    rent: { name: options.streams.rentCategory, id: rentCategoryOf(limiter, options.streams.rentCategory) },
    request: requestCategory,
  }
  const patience = new Patience(options.discardTimeoutMs, limiter.clock)
  const discard = { maxDiscardBytes: options.maxDiscardBytes, patience }
  const answering: AnswerOptions = {
    rejection: { ...discard, clientStreams: false },
    ...options.rateLimitHeaders,
    renderRejection: options.renderRejection,
  }
  const denials = new DenialEncoder(domain)
  const rpcs: WiredRpc[] = []
  const watch = new RouteWatch()

  const allowanceFor = (request: FastifyRequest, reply?: FastifyReply): RequestAllowance => {
    const own = request as WithAllowance
    if (reply !== undefined) own[replyOfRequest] = reply
    own[allowanceOfRequest] ??= new RequestAllowance(services, request)
    return own[allowanceOfRequest]
  }
  const plainRoutes = new PlainRoutes(limiter, options.routes, allowanceFor, answering)

  app.decorateRequest(allowanceOfRequest, null)
  app.decorateRequest(replyOfRequest, null)
  app.decorateRequest('caller', {
    getter(this: FastifyRequest) {
      return allowanceFor(this).caller
    },
  })
  app.decorateRequest('spend', function (this: FastifyRequest, category: string, cost: number) {
    return allowanceFor(this).spend(category, cost)
  })
  app.decorateRequest('reserve', function (this: FastifyRequest, category: string, cost: number) {
    return allowanceFor(this).reserve(category, cost)
  })
  app.decorateRequest('hold', function (this: FastifyRequest, name: string) {
    return allowanceFor(this).hold(name)
  })
  app.decorate('allowance', {
    limiter,
    connect: (connectOptions) => {
      checkConnectOptions(connectOptions)
      const chargings = new Map<DescMethod, RpcCharging>()
      const handlerAllowance = (request: FastifyRequest) =>
        new HandlerAllowance(allowanceFor(request), chargings, streams)
      return {
        ...connectOptions,
        routes(router: ConnectRouter) {
          const charging = (method: DescMethod) => chargingOf(method, declaredCharges.of(method), limiter)
          watch.expect(() => {
            const wired = wireRoutes(router, (wired) => connectOptions.routes!(wired), connectOptions, charging)
            for (const rpc of wired) chargings.set(rpc.plan.method, rpc)
            rpcs.push(...wired)
            return wired
          })
        },
        contextValues: (request: FastifyRequest) =>
          new ValuesWithAllowance(connectOptions.contextValues?.(request), request, handlerAllowance),
      }
    },
    categoryTable: () =>
      formatCategoryTable(categoryTable(rpcs.filter(({ implemented }) => implemented).map(({ plan }) => plan))),
  })

  // Whatever has been registered until now, onRoute does not tell of.
  const mayHaveMissedRoutes = app.printRoutes() !== NO_ROUTES
  app.addHook('onRequest', function allowanceRemember(request, reply, done) {
    const own = request as WithAllowance
    own[replyOfRequest] = reply
    if (mayHaveMissedRoutes) checkCharged(request)
    done()
  })
  app.addHook('onRoute', function (this: FastifyInstance, route) {
    const rpc = watch.match(this, route as RouteOptions & { routePath: string })
    if (rpc === undefined) return plainRoutes.add(route, (step, hook) => watch.hook(route, hook, step))
    const { method } = rpc.plan
    const rejection = { ...discard, clientStreams: isClientStreaming(method) }
    route.errorHandler = answerErrors(route.errorHandler, rejection)
    if (method.methodKind !== 'unary') {
      route.preHandler = [endCalls(rejection, allowanceFor), ...[route.preHandler ?? []].flat()]
    }
    if (rpc.plan.free || !rpc.implemented) return
    watch.hook(route, chargeRequest(requestCategory, allowanceFor, rejection, denials))
  })
  plainRoutes.addNoRoute(app, options.notFound)
  app.addHook('onReady', async () => {
    watch.check(app)
    const hasRpcs = rpcs.some(({ plan, implemented }) => implemented && !plan.free)
    plainRoutes.warn(app.log, options.instances, hasRpcs ? requestCategory : undefined)
    declaredCharges.checkRegistered(rpcs.map(({ plan }) => plan.method))
  })
  app.addHook('preClose', async () => {
    streams.streams.close(new ConnectError('the server is closing', Code.Unavailable))
    patience.end()
  })
  if (limiter.policy.trustedProxies.isEmpty) warnAboutTrustProxy(app)
}

function tooManyStreams(): ConnectError {
  return new ConnectError('too many streams are open on this server', Code.Unavailable)
}

function rentCategoryOf(limiter: Limiter, name: string): number {
  try {
    return limiter.categoryId(name)
  } catch (error) {
    throw new AllowanceOptionsError([{ path: 'options.streams.rentCategory', message: (error as Error).message }])
  }
}

/**
 * The plugin: `await app.register(allowance, { domain: 'example.com', rateLimits, identify })`, then the RPCs by
 * `app.register(fastifyConnectPlugin, app.allowance.connect({ routes }))`.
 * @throws AllowanceOptionsError when an option is wrong; Error when it is registered in a scope that has it already.
 */
export default fastifyPlugin(allowance, { name: 'fastify-allowance', fastify: '5.x' })
