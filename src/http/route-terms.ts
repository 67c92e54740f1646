import type { FastifyReply, FastifyRequest } from 'fastify'
import { BoundSet } from '../limiter/bound-set.ts'
import type { Denial } from '../limiter/denial.ts'
import type { Limiter } from '../limiter/limiter.ts'
import type { Bound } from '../policy/bounds.ts'
import {
  type CheckedRouteAllowance,
  overRouteAllowance,
  parseRouteAllowance,
  type RouteAllowance as RouteAllowanceOf,
} from '../policy/route-allowance.ts'
import type { FirstCharge } from '../request/request-allowance.ts'

/** What a plain HTTP route costs, and what bounds it: `config.allowance` of a route, and the plugin's options `routes` and `notFound`. */
export type RouteAllowance = RouteAllowanceOf<FastifyRequest, FastifyReply, Denial, BoundSet>

/** The body of a refusal in a plain route. */
export type RenderRejection = (denial: Denial, request: FastifyRequest, reply: FastifyReply) => unknown

type Checked = CheckedRouteAllowance<FastifyRequest, FastifyReply, Denial, BoundSet>

/** When a route is charged. */
export type ChargeStep = 'onRequest' | 'preHandler'

/** What a route costs, ready for use. */
export interface RouteTerms {
  /** Whether anything happens when it is requested: something is charged or held, or what its handler spends has bounds. */
  readonly isCharged: boolean
  readonly chargesOf: (request: FastifyRequest) => readonly FirstCharge[]
  /** undefined: none but those of the limiter. */
  readonly boundsOf: ((request: FastifyRequest) => readonly BoundSet[]) | undefined
  /** The bounds that are known before any request; undefined where they depend on it. */
  readonly fixedBounds: readonly BoundSet[] | undefined
  /** The categories that are known before any request; undefined where they depend on it. */
  readonly categories: readonly number[] | undefined
  readonly holds: readonly string[]
  readonly step: ChargeStep
  readonly renderRejection: RenderRejection | undefined
}

/** Makes the terms of routes of one limiter. */
export class RouteTermsMaker {
  readonly #limiter: Limiter
  readonly #forAll: Checked
  readonly #isForAll: boolean

  /** @param forAll The plugin's option `routes`. @throws AllowanceOptionsError when it is wrong. */
  constructor(limiter: Limiter, forAll: unknown) {
    this.#limiter = limiter
    this.#isForAll = forAll !== undefined
    this.#forAll = this.#parse(forAll, 'options.routes')
  }

  /**
   * The terms of a route; undefined where nothing is said of it.
   * @param own The route's `config.allowance`.
   * @param path What the user calls that, for errors.
   * @throws AllowanceOptionsError when it is wrong.
   */
  of(own: unknown, path: string): RouteTerms | undefined {
    if (own === undefined && !this.#isForAll) return undefined
    return this.#terms(overRouteAllowance(this.#forAll, this.#parse(own, path)), path)
  }

  /** The terms of requests that no route takes. */
  ofNoRoute(own: unknown): RouteTerms | undefined {
    const path = 'options.notFound'
    return own === undefined ? undefined : this.#terms(this.#parse(own, path), path)
  }

  #parse(written: unknown = {}, path: string): Checked {
    const { policy, holdNames } = this.#limiter
    const isBoundSet = (value: unknown) => value instanceof BoundSet
    return parseRouteAllowance(written, { categories: policy.categories, holds: holdNames, isBoundSet }, path)
  }

  #terms({ free, charges, bounds, holds, step, renderRejection }: Checked, path: string): RouteTerms {
    const numbered = (list: readonly { category: string; cost: number }[]): FirstCharge[] =>
      list.map(({ category, cost }) => ({ category: this.#limiter.categoryId(category), cost }))
    const ofRoute = free ? [] : (charges ?? [{ category: 'request', cost: 1 }])
    const fixed = typeof ofRoute === 'function' ? undefined : numbered(ofRoute)
    const boundsOf = this.#boundsOf(bounds, path)
    return Object.freeze({
      isCharged: free !== true || bounds !== undefined,
      chargesOf: fixed ? () => fixed : (request: FastifyRequest) => numbered((ofRoute as ChargesOf)(request)),
      boundsOf: Array.isArray(boundsOf) ? () => boundsOf : boundsOf,
      fixedBounds: typeof boundsOf === 'function' ? undefined : (boundsOf ?? []),
      categories: fixed?.map(({ category }) => category),
      holds: holds ?? [],
      step: step ?? 'onRequest',
      renderRejection,
    })
  }

  #boundsOf(bounds: Checked['bounds'], path: string) {
    if (bounds === undefined) return undefined
    if (bounds instanceof BoundSet) return [bounds]
    if (typeof bounds !== 'function')
      return [this.#limiter.count(bounds as readonly Bound<unknown>[], `${path}.bounds`, 'first')]
    return (request: FastifyRequest) => {
      const sets: readonly unknown[] = [bounds(request) ?? []].flat()
      if (sets.every((set) => set instanceof BoundSet)) return sets as readonly BoundSet[]
      throw new TypeError(`${path}.bounds must return what limiter.bounds() made, a list of such, or undefined`)
    }
  }
}

type ChargesOf = (request: FastifyRequest) => readonly { category: string; cost: number }[]
