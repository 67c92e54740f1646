import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { Limiter } from '../limiter.ts'
import type { RequestAllowance } from '../request-allowance.ts'
import type { AnswerOptions } from './answer.ts'
import { answerDenials } from './answer-denials.ts'
import { chargeRoute } from './charge-route.ts'
import { type RouteTerms, RouteTermsMaker } from './route-terms.ts'

type AllowanceFor = (request: FastifyRequest, reply: FastifyReply) => RequestAllowance

/** The plain HTTP routes of a plugin: what they cost, and how they are refused. */
export class PlainRoutes {
  readonly #limiter: Limiter
  readonly #terms: RouteTermsMaker
  readonly #allowanceFor: AllowanceFor
  readonly #options: AnswerOptions
  readonly #charged: { readonly name: string; readonly terms: RouteTerms }[] = []
  readonly #get = new Map<string, { readonly own: unknown; readonly terms: RouteTerms | undefined }>()
  readonly #added = new WeakSet<NonNullable<RouteOptions['errorHandler']>>()

  /** @param forAll The plugin's option `routes`. @throws AllowanceOptionsError when it is wrong. */
  constructor(limiter: Limiter, forAll: unknown, allowanceFor: AllowanceFor, options: AnswerOptions) {
    this.#limiter = limiter
    this.#terms = new RouteTermsMaker(limiter, forAll)
    this.#allowanceFor = allowanceFor
    this.#options = options
  }

  /** A plain route is being added. @throws AllowanceOptionsError when its `config.allowance` is wrong. */
  add(route: RouteOptions): void {
    // Fastify's own HEAD route is a copy of the GET route, with all that was added to that.
    if (route.errorHandler !== undefined && this.#added.has(route.errorHandler)) return
    const name = `${[route.method].flat().join(',')} ${route.url}`
    const own = route.config?.allowance
    // A preflight asks whether a request may be made; it is none. Who means another OPTIONS says so.
    const isPreflight = own === undefined && [route.method].flat().every((method) => method === 'OPTIONS')
    const terms = isPreflight ? undefined : this.#termsOf(route, own, name)
    route.errorHandler = answerDenials(route.errorHandler, this.#allowanceFor, this.#options, terms?.renderRejection)
    this.#added.add(route.errorHandler)
    if (terms === undefined) return
    this.#charged.push({ name, terms })
    const hook = chargeRoute(terms, this.#allowanceFor, this.#options)
    route[terms.step] = [hook, ...[route[terms.step] ?? []].flat()] as never
  }

  /** A HEAD request, which Fastify answers by the GET route, counts as that. */
  #termsOf(route: RouteOptions, own: unknown, name: string): RouteTerms | undefined {
    const known = route.method === 'HEAD' ? this.#get.get(route.url) : undefined
    if (known !== undefined && known.own === own) return known.terms
    const terms = this.#terms.of(own, `config.allowance of ${name}`)
    if ([route.method].flat().includes('GET')) this.#get.set(route.url, { own, terms })
    return terms
  }

  /** Charges the requests that no route takes. In a step after onRequest, so that CORS may be added before or after. */
  addNoRoute(app: FastifyInstance, notFound: unknown): void {
    const terms = this.#terms.ofNoRoute(notFound)
    if (terms === undefined) return
    const charge = chargeRoute(terms, this.#allowanceFor, this.#options)
    app.addHook('preParsing', function allowanceNotFound(request, reply, payload, done) {
      if (!request.is404) return done(null, payload)
      charge.call(this, request, reply, (error?: Error) => done(error ?? null, payload))
    })
  }

  /** Warns of what looks bounded and is not, and of what means something else where several instances run. */
  warn(log: FastifyBaseLogger, instances: number): void {
    for (const { name, terms } of this.#charged) {
      const { fixedBounds, categories } = terms
      if (fixedBounds === undefined || categories === undefined) continue
      const isBounded = categories.some((category) => this.#limiter.isBounded(category, fixedBounds))
      if (!isBounded || categories.some((category) => this.#limiter.boundsEverybody(category, fixedBounds))) continue
      log.warn(
        `fastify-allowance: no bound applies to everybody on ${name}: its bounds are about some callers or requests only`,
      )
    }
    if (instances <= 1) return
    const names = [...new Set(this.#charged.flatMap(({ terms }) => this.#limiter.boundNames(terms.fixedBounds ?? [])))]
    log.warn(
      `fastify-allowance: every limit holds per instance, and ${instances} instances run: together they admit up to ${instances} times as much` +
        (names.length === 0 ? '' : ` (bounds ${names.join(', ')})`),
    )
  }
}
