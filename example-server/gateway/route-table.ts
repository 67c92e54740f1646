import type { BoundSet, Limiter } from '../../src/index.ts'
import { compileBounds, type RouteBounds } from './bounds.ts'
import type { RouteConfig } from './config-route.ts'
import type { RequestPath } from './request-path.ts'
import { boundSomeOnly } from './rules.ts'

/** A route that takes requests. */
export interface Route extends RouteConfig {
  bounds: RouteBounds
  /** What an operator should know of its rules. */
  warnings: readonly string[]
}

/** What is known of a request before anything else of it is looked at. */
export interface Target {
  route: Route
  /** The path below the prefix of the route. */
  rest: string
  /** The signature of the operation that it is for, when the route's OpenAPI file has one. */
  operation: string | undefined
}

export interface RouteTable {
  /** In the order of their names. */
  all(): readonly Route[]
  get(name: string): Route | undefined
  find(method: string, path: RequestPath): Target | undefined
  /** The bounds of the route of a request, as it is now, and then of its operation. */
  boundsOf(target: Target): readonly BoundSet[]
  /**
   * Puts a route in, in place of the one that has its name. Its counters start at 0; those of other routes go on.
   * @throws AllowanceOptionsError when there is no memory for its counters; then everything is as before.
   */
  save(config: RouteConfig): Route
  remove(name: string): void
}

export function createRouteTable(limiter: Limiter): RouteTable {
  const routes = new Map<string, Route>()
  let byLength: readonly Route[] = []
  const rearrange = () => {
    byLength = [...routes.values()].sort((a, b) => b.prefix.length - a.prefix.length)
  }
  return {
    all: () => [...routes.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
    get: (name) => routes.get(name),
    find(method, { path, compared }) {
      const route = byLength.find(({ prefix }) => below(prefix, compared) !== undefined)
      return route && targetOf(route, method, path, compared)
    },
    boundsOf({ route: { name }, operation }) {
      const { route, operations } = routes.get(name)?.bounds ?? {}
      return [route, operations?.get(operation ?? '')].filter((set) => set !== undefined)
    },
    save(config) {
      const route = { ...config, bounds: compileBounds(limiter, config), warnings: warningsOf(config) }
      routes.get(config.name)?.bounds.dispose()
      routes.set(config.name, route)
      rearrange()
      return route
    },
    remove(name) {
      routes.get(name)?.bounds.dispose()
      routes.delete(name)
      rearrange()
    },
  }
}

function targetOf(route: Route, method: string, path: string, compared: string): Target {
  const { inventory, prefix } = route
  const operation = inventory?.match(method, below(prefix, compared) || '/')?.signature
  return { route, rest: restOf(prefix, path), operation }
}

/** What of a path is below a prefix: empty, or from a slash on. */
function below(prefix: string, path: string): string | undefined {
  if (prefix === '/') return path
  if (!path.startsWith(prefix)) return undefined
  const rest = path.slice(prefix.length)
  return rest === '' || rest.startsWith('/') ? rest : undefined
}

/** As `below`, of a path that is as it will be forwarded; its prefix may still be encoded in part. */
function restOf(prefix: string, path: string): string {
  const slashes = prefix === '/' ? 0 : prefix.split('/').length - 1
  let at = 0
  for (let i = 0; i < slashes; i += 1) at = path.indexOf('/', at) + 1
  const end = slashes === 0 ? 0 : path.indexOf('/', at)
  return end === -1 ? '' : path.slice(end)
}

/** The document's case that one believes is covered: rules are there, and whoever they do not describe is free. */
function warningsOf({ rules, operations }: RouteConfig): string[] {
  const warnings = boundSomeOnly(rules) ? ['no bound applies to everybody'] : []
  for (const { operation, rules: own } of operations) {
    if (rules.length === 0 && boundSomeOnly(own)) warnings.push(`${operation}: no bound applies to everybody`)
  }
  return warnings
}
