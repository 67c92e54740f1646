import { z } from 'zod'
import { notDeclared } from './bounds.ts'
import { functionOr, isPlainObject, namedEntries, wholeNumber } from './option-schema.ts'
import { didYouMean } from './spelling.ts'

/** Units of `request`, or units by category: whole numbers from 0 to 2⁵³ − 1. */
export type RouteCosts = number | { readonly [category: string]: number }

/** One charge of a request. */
export interface RouteCharge {
  /** A declared one. */
  readonly category: string
  /** A whole number from 0 to 2⁵³ − 1. */
  readonly cost: number
}

const COST = `a whole number from 0 to ${Number.MAX_SAFE_INTEGER}`

/** Schema of what a route charges: costs, or a function, for which `chargesByFunction` is. */
export function routeCharges(categories: readonly string[]) {
  const category = z.custom<string>((name) => categories.includes(name as string), {
    error: ({ input }) => notDeclared(String(input), categories),
    abort: false,
  })
  const costs = z
    .unknown()
    .transform(byCategory)
    .pipe(namedEntries(category, wholeNumber(0, Number.MAX_SAFE_INTEGER), 'an object of costs by category'))
    .refine((costs) => costs.size > 0, { error: 'must name at least one category; a route that costs nothing is free' })
    .transform((costs) => chargeList(costs))
  return functionOr<(request: never) => RouteCosts, readonly RouteCharge[]>(costs, {
    allowed: `${COST}, an object of such numbers by category, or a function of the request`,
    looksLikeIt: (value) => isCost(value) || isPlainObject(value),
  })
}

/**
 * The charges of a request by the app's own function.
 * @param path What the user calls the function, for errors. They say nothing of the request, nor what it made of it.
 */
export function chargesByFunction<Request>(
  costsOf: (request: Request) => RouteCosts,
  categories: readonly string[],
  path: string,
): (request: Request) => readonly RouteCharge[] {
  const known = new Set(categories)
  return (request) => {
    const written: unknown = costsOf(request)
    if (!isCost(written) && !isPlainObject(written)) {
      throw new RangeError(`${path} must return ${COST}, or an object of such numbers by category`)
    }
    const costs = Object.entries(byCategory(written) as Record<string, unknown>)
    const undeclared = costs.find(([category]) => !known.has(category))
    if (undeclared !== undefined) {
      // It may be made of the request: of it only what the app has declared is shown.
      const hint = didYouMean(undeclared[0], categories)
      throw new RangeError(`${path} returned an undeclared category${hint}; declared: ${categories.join(', ')}`)
    }
    const wrong = costs.find(([, cost]) => !isCost(cost))
    if (wrong !== undefined) throw new RangeError(`${path} must return for ${wrong[0]} ${COST}`)
    return chargeList(costs as [string, number][])
  }
}

function byCategory(written: unknown): unknown {
  return isPlainObject(written) ? written : { request: written }
}

function chargeList(costs: Iterable<readonly [string, number]>): readonly RouteCharge[] {
  return Object.freeze([...costs].map(([category, cost]) => Object.freeze({ category, cost })))
}

function isCost(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
