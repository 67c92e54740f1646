import { z } from 'zod'
import type { BoundOptions } from './bound-options.ts'
import { type Bound, boundsOption } from './bounds.ts'
import {
  always,
  anyFunction,
  functionOr,
  isPlainObject,
  mustBe,
  oneOf,
  optionsObject,
  parseOptions,
} from './option-schema.ts'
import { chargesByFunction, type RouteCharge, type RouteCosts, routeCharges } from './route-charges.ts'
import { showValue } from './show-value.ts'
import { didYouMean } from './spelling.ts'

/** What a plain HTTP route costs, and what bounds it. Given for one route, it goes over what is given for all, key by key. */
export interface RouteAllowance<Request, Reply, Denial, BoundSet> {
  /** It costs nothing. Not beside `charges` and `holds`, and takes the place of those that are given for all routes. */
  readonly free?: true | undefined
  /**
   * What a request costs: units of `request`, or units by category, whole numbers from 0 to 2⁵³ − 1, or a function of the
   * request that returns either. Default: 1.
   */
  readonly charges?: RouteCosts | ((request: Request) => RouteCosts) | undefined
  /**
   * Bounds on top of the plugin's: a list, a set that `limiter.bounds()` made, or a function of the request that returns
   * the set or sets to go by, or undefined for none. Default: none.
   */
  readonly bounds?:
    | readonly BoundOptions<Request>[]
    | BoundSet
    | ((request: Request) => BoundSet | readonly BoundSet[] | undefined)
    | undefined
  /** Names of holds that are kept from the charge until the response ends, each once. Default: none. */
  readonly holds?: readonly string[] | undefined
  /**
   * When it is charged: before the body is read (`onRequest`), or once it is there (`preHandler`), then everything in one
   * spend. Default: `onRequest`.
   */
  readonly step?: 'onRequest' | 'preHandler' | undefined
  /**
   * Returns the body of a refusal. The reply has its status, 429, and its headers already, and may be changed. Default: that
   * of the plugin.
   */
  readonly renderRejection?: ((denial: Denial, request: Request, reply: Reply) => unknown) | undefined
}

/** A route's allowance, checked, frozen; with the keys that were given and no others. */
export interface CheckedRouteAllowance<Request, Reply, Denial, BoundSet> {
  readonly free?: true
  /** The function throws a RangeError where the app's own returns what is no cost, or names an undeclared category. */
  readonly charges?: readonly RouteCharge[] | ((request: Request) => readonly RouteCharge[])
  readonly bounds?:
    | readonly Bound<Request>[]
    | BoundSet
    | ((request: Request) => BoundSet | readonly BoundSet[] | undefined)
  readonly holds?: readonly string[]
  readonly step?: 'onRequest' | 'preHandler'
  readonly renderRejection?: (denial: Denial, request: Request, reply: Reply) => unknown
}

/** What else is declared, which a route's allowance may name. */
export interface RouteContext {
  /** The names of all categories. */
  readonly categories: readonly string[]
  /** The names of all holds. */
  readonly holds: readonly string[]
  /** Whether a value is a set of bounds that `limiter.bounds()` made. */
  readonly isBoundSet: (value: unknown) => boolean
}

/**
 * Checks what a route costs and what bounds it. Only reads `input`.
 * @param path What the user calls it: the start of each path in an error, such as `config.allowance`.
 * @throws AllowanceOptionsError listing every problem.
 */
export function parseRouteAllowance<Request, Reply, Denial, BoundSet>(
  input: unknown,
  context: RouteContext,
  path: string,
): CheckedRouteAllowance<Request, Reply, Denial, BoundSet> {
  const { charges, ...others } = parseOptions(schemaOf(context), input, path)
  const checked = {
    ...others,
    charges:
      typeof charges === 'function' ? chargesByFunction(charges, context.categories, `${path}.charges`) : charges,
  }
  const given = Object.entries(checked).filter(([, value]) => value !== undefined)
  return Object.freeze(Object.fromEntries(given)) as CheckedRouteAllowance<Request, Reply, Denial, BoundSet>
}

/** The allowance of one route over that of all, key by key; `free` and what a free route has not take each other's place. */
export function overRouteAllowance<Request, Reply, Denial, BoundSet>(
  all: CheckedRouteAllowance<Request, Reply, Denial, BoundSet>,
  own: CheckedRouteAllowance<Request, Reply, Denial, BoundSet>,
): CheckedRouteAllowance<Request, Reply, Denial, BoundSet> {
  const { free, charges, holds, ...others } = all
  const costs = { ...(charges && { charges }), ...(holds && { holds }) }
  if (own.free) return Object.freeze({ ...others, ...own })
  if (own.charges || own.holds) return Object.freeze({ ...others, ...costs, ...own })
  return Object.freeze({ ...all, ...own })
}

function schemaOf({ categories, holds, isBoundSet }: RouteContext) {
  return optionsObject({
    free: z.literal(true, { error: mustBe('true; a route that is not free leaves it out') }).optional(),
    charges: routeCharges(categories).optional(),
    bounds: functionOr<unknown, readonly Bound<never>[]>(boundsOption(categories), {
      allowed: 'a list of bounds, a set made by limiter.bounds(), or a function of the request',
      looksLikeIt: Array.isArray,
      asIs: isBoundSet,
    }).optional(),
    holds: holdNames(holds).optional(),
    step: oneOf(['onRequest', 'preHandler']).optional(),
    renderRejection: anyFunction('a function of the denial, the request and the reply').optional(),
  }).superRefine((written, ctx) => {
    if (!isPlainObject(written) || written.free === undefined) return
    for (const key of ['charges', 'holds'] as const) {
      if (written[key] !== undefined) ctx.addIssue({ code: 'custom', path: [key], message: 'cannot stand beside free' })
    }
  }, always)
}

function holdNames(declared: readonly string[]) {
  const allowed = declared.length === 0 ? 'none is declared' : `declared: ${declared.join(', ')}`
  const name = z.custom<string>((value) => declared.includes(value as string), {
    error: ({ input }) => {
      const hint = typeof input === 'string' ? didYouMean(input, declared) : ''
      return `must be the name of a declared hold, got ${showValue(input)}${hint}; ${allowed}`
    },
    abort: false,
  })
  return z
    .array(name, { error: mustBe('a list of names of holds') })
    .superRefine((names, ctx) => {
      for (const [index, name] of names.entries()) {
        const first = names.indexOf(name)
        if (first === index) continue
        ctx.addIssue({ code: 'custom', path: [index], message: `is kept already, at [${first}]; allowed: once` })
      }
    })
    .transform((names): readonly string[] => Object.freeze(names))
}
