import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { BoundSet } from '../limiter/bound-set.ts'
import type { Limiter } from '../limiter/limiter.ts'
import type { RequestAllowance } from '../request/request-allowance.ts'
import { routeName } from '../request/request-origin.ts'
import type { AnswerOptions } from './answer.ts'
import { answerDenials } from './answer-denials.ts'
import { chargeRoute } from './charge-route.ts'
import { type ChargeStep, type RouteTerms, RouteTermsMaker } from './route-terms.ts'

type AllowanceFor = (request: FastifyRequest, reply: FastifyReply) => RequestAllowance
type Hook = ReturnType<typeof chargeRoute>

/** A plain route, or what stands for the requests that no route takes. */
interface PlainRoute {
  /** For people, and for bounds per route. */
  readonly name: string
  readonly terms: RouteTerms | undefined
}

/** The plain HTTP routes of a plugin: what they cost, and how they are refused. */
export class PlainRoutes {
  readonly #limiter: Limiter
  readonly #terms: RouteTermsMaker
  readonly #allowanceFor: AllowanceFor
  readonly #options: AnswerOptions
  readonly #routes: PlainRoute[] = []
  /** The GET routes, by their place, with their `config.allowance`. */
  readonly #gets = new Map<string, { readonly own: unknown; readonly route: PlainRoute }>()

  /** @param forAll The plugin's option `routes`. @throws AllowanceOptionsError when it is wrong. */
  constructor(limiter: Limiter, forAll: unknown, allowanceFor: AllowanceFor, options: AnswerOptions) {
    this.#limiter = limiter
    this.#terms = new RouteTermsMaker(limiter, forAll)
    this.#allowanceFor = allowanceFor
    this.#options = options
  }

  /**
   * A plain route is being added.
   * @param addHook Makes a hook the first of the route's own in a step.
   * @throws AllowanceOptionsError when its `config.allowance` is wrong.
   */
  add(route: RouteOptions, addHook: (step: ChargeStep, hook: Hook) => void): void {
    const { name, terms } = this.#getOf(route) ?? this.#added(route)
    route.config = Object.assign({ ...route.config }, { [routeName]: name })
    const answer = this.#answerOf(terms)
    route.errorHandler = answerDenials(route.errorHandler, this.#allowanceFor, answer)
    if (terms?.isCharged) addHook(terms.step, chargeRoute(terms, this.#allowanceFor, answer))
  }

  /** How a route answers: in its own body, if it has one. */
  #answerOf(terms: RouteTerms | undefined): AnswerOptions {
    return { ...this.#options, renderRejection: terms?.renderRejection ?? this.#options.renderRejection }
  }

  #added(route: RouteOptions): PlainRoute {
    const methods = [route.method].flat()
    const name = `${methods.join(',')} ${placeOf(route)}`
    const own = route.config?.allowance
    const added = { name, terms: this.#terms.of(own, `${name}: config.allowance`) }
    this.#routes.push(added)
    if (methods.includes('GET')) this.#gets.set(placeOf(route), { own, route: added })
    return added
  }

  /**
   * The GET route that a HEAD route is a copy of, as Fastify adds it right after that, and counts as. Hooks of the app may have
   * put something in place of its handler or its config, but not of the allowance in that.
   */
  #getOf(route: RouteOptions): PlainRoute | undefined {
    if (route.method !== 'HEAD') return undefined
    // With and without a slash at its end, where a scope's prefix is all of it.
    const get =
      this.#gets.get(placeOf(route)) ?? this.#gets.get(placeOf({ ...route, url: route.url.replace(/\/$/, '') }))
    return get !== undefined && get.own === route.config?.allowance ? get.route : undefined
  }

  /** Charges the requests that no route takes. In steps after onRequest, so that CORS may be added before or after. */
  addNoRoute(app: FastifyInstance, notFound: unknown): void {
    const terms = this.#terms.ofNoRoute(notFound)
    if (!terms?.isCharged) return
    this.#routes.push({ name: 'requests that no route takes', terms })
    const charge = chargeRoute(terms, this.#allowanceFor, this.#answerOf(terms))
    if (terms.step === 'preHandler') {
      app.addHook('preHandler', function allowanceNotFound(request, reply, done) {
        if (!request.is404) return done()
        charge.call(this, request, reply, done)
      })
    } else {
      app.addHook('preParsing', function allowanceNotFound(request, reply, payload, done) {
        if (!request.is404) return done(null, payload)
        charge.call(this, request, reply, (error?: Error) => done(error ?? null, payload))
      })
    }
  }

  /**
   * Warns of what looks bounded and is not, and of what means something else where several instances run.
   * @param rpcCategory The category that every RPC spends; undefined, if there is none.
   */
  warn(log: FastifyBaseLogger, instances: number, rpcCategory: number | undefined): void {
    const names = new Set(this.#limiter.accounts.boundNames([]))
    const partial = rpcCategory !== undefined && this.#isPartial([rpcCategory], []) ? ['RPCs'] : []
    for (const { name, terms } of this.#routes) {
      if (terms?.fixedBounds === undefined) continue
      for (const bound of this.#limiter.accounts.boundNames(terms.fixedBounds)) names.add(bound)
      if (this.#isPartial(terms.categories ?? [], terms.fixedBounds)) partial.push(name)
    }
    if (partial.length > 0) {
      log.warn(
        `fastify-allowance: no bound applies to everybody on ${partial.join(', ')}: the bounds there are about some callers or requests only`,
      )
    }
    if (instances <= 1) return
    log.warn(
      `fastify-allowance: every limit holds per instance, and ${instances} instances run: together they admit up to ${instances} times as much` +
        (names.size === 0 ? '' : ` (bounds ${[...names].join(', ')})`),
    )
  }

  /** Whether there are bounds, and none that is about everybody. */
  #isPartial(categories: readonly number[], bounds: readonly BoundSet[]): boolean {
    if (!categories.some((id) => this.#limiter.accounts.isAnybodyBounded(id, bounds))) return false
    return !categories.some((id) => this.#limiter.accounts.isEverybodyBounded(id, bounds))
  }
}

/**
 * A request has come whose route may be from before the plugin, which no hook of the plugin sees being added.
 * @throws Error when the route has a `config.allowance`, which would be lost.
 */
export function checkCharged({ routeOptions: { config, method, url } }: FastifyRequest): void {
  if (config.allowance === undefined || Object.hasOwn(config, routeName)) return
  throw new Error(
    `fastify-allowance does not charge ${method} ${url}: its config.allowance asks for that; register the route after the plugin, and await that: await app.register(allowance, …)`,
  )
}

/** The URL of a route, and its constraints. */
function placeOf({ url, constraints }: RouteOptions): string {
  return constraints ? `${url} ${JSON.stringify(constraints, asText)}` : url
}

/** Constraints may be regular expressions, or anything that the app's own strategies take. */
function asText(_key: string, value: unknown): unknown {
  return value instanceof RegExp ? String(value) : value
}
