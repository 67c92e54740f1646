import type { FastifyRequest } from 'fastify'
import type { BoundOptions, BoundSet, Limiter } from '../../src/index.ts'
import type { RouteConfig } from './config-route.ts'
import type { Per, Rule } from './rules.ts'

/** Of each rule; who comes when so many are tracked shares one counter with all others that do. */
const MOST_CALLERS = 10_000

// A set of bounds belongs to one route (or operation), so that everyone in it is everyone on the route.
const PER: Record<Per, BoundOptions<FastifyRequest>['per']> = {
  route: 'everyone',
  user: 'user',
  token: 'token',
  organisation: 'organisation',
  address: 'address',
}

/** The counters of a route: one set for the route, and one for each operation that has rules of its own. */
export interface RouteBounds {
  route: BoundSet | undefined
  /** By the signature of the operation. */
  operations: ReadonlyMap<string, BoundSet>
  dispose(): void
}

/**
 * Makes the counters of a route, all at 0.
 * @throws AllowanceOptionsError when there is no memory for them; then none are kept.
 */
export function compileBounds(limiter: Limiter, { name, rules, operations }: RouteConfig): RouteBounds {
  const made: BoundSet[] = []
  const compile = (list: readonly Rule[], prefix: string) => {
    const set = limiter.bounds(list.map((rule, i) => boundOf(rule, `${prefix}.${i + 1}-per-${rule.per}`)))
    made.push(set)
    return set
  }
  const dispose = () => {
    for (const set of made) set.dispose()
  }
  try {
    const route = rules.length === 0 ? undefined : compile(rules, name)
    const sets = operations.map(({ operation, rules }, i) => [operation, compile(rules, `${name}.${i + 1}`)] as const)
    return { route, operations: new Map(sets), dispose }
  } catch (error) {
    dispose()
    throw error
  }
}

function boundOf({ per, only, count, windowSeconds }: Rule, name: string): BoundOptions<FastifyRequest> {
  return {
    name,
    per: PER[per],
    ...(only && { appliesTo: { roles: [...only.roles] } }),
    limits: [{ kind: 'sliding_window', count, windowSeconds }],
    // Everyone is one key.
    ...(per !== 'route' && { maxKeys: MOST_CALLERS, overflow: 'share' as const }),
  }
}
