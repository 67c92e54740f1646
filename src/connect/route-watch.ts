import type { FastifyInstance, onRequestHookHandler, RouteOptions } from 'fastify'
import { pathsOutOfReach } from './out-of-reach.ts'
import type { WiredRpc } from './wired-routes.ts'

/** The name of the handler that connect-fastify gives each of its routes. */
const CONNECT_HANDLER_NAME = 'handleFastifyRequest'

/** In which steps routes are charged. */
type Step = 'onRequest' | 'preHandler'

/** What the plugins of one server, in scopes beside each other, have seen between them. */
interface Seen {
  /** URLs of routes of RPCs that were wired. */
  readonly matched: Set<string>
  /** Scopes of connect-fastify's plugin. */
  readonly connectScopes: Set<FastifyInstance>
}

const seenOn = new WeakMap<object, Seen>()

/**
 * Makes sure that every RPC is charged: matches the RPCs that were wired with the Fastify routes that follow, and stops
 * the start, by name, for an RPC without a route in the plugin's reach, for a route of connect-fastify without charges,
 * and for one, of whatever kind, that lost its hook. Nothing else would tell that a forgotten line makes an RPC free.
 */
export class RouteWatch {
  readonly #expected = new Map<string, WiredRpc>()
  readonly #unwired: string[] = []
  readonly #hooked: { readonly route: RouteOptions; readonly hook: onRequestHookHandler; readonly step: Step }[] = []
  #failure: unknown

  /**
   * Wires RPCs: connect-fastify adds their routes right after. What `wire` throws is kept for `check`, because thrown in
   * the plugin of connect-fastify it would be an uncaught exception.
   */
  expect(wire: () => readonly WiredRpc[]): void {
    try {
      for (const rpc of wire()) this.#expected.set(rpc.requestPath, rpc)
    } catch (error) {
      this.#failure ??= error
    }
  }

  /** A route is being added. Returns its RPC, or undefined when it is none, or one that was not wired. */
  match(scope: FastifyInstance, route: RouteOptions & { routePath: string }): WiredRpc | undefined {
    // Fastify drops the leading slash where the scope's prefix ends in one.
    const path = route.routePath.startsWith('/') ? route.routePath : `/${route.routePath}`
    const isConnectRoute = route.handler.name === CONNECT_HANDLER_NAME
    const { matched, connectScopes } = seen(scope)
    const rpc = this.#expected.get(path)
    if (rpc !== undefined || isConnectRoute) connectScopes.add(scope)
    if (rpc !== undefined) {
      this.#expected.delete(path)
      matched.add(route.url)
    } else if (isConnectRoute) {
      this.#unwired.push(route.url)
    }
    return rpc
  }

  /** Makes `hook` the first of the route's own in a step. */
  hook(route: RouteOptions, hook: onRequestHookHandler, step: Step = 'onRequest'): void {
    route[step] = [hook, ...hooksOf(route, step)]
    this.#hooked.push({ route, hook, step })
  }

  /**
   * All routes are there.
   * @throws Error when an RPC is not charged; what wiring them threw.
   */
  check(app: FastifyInstance): void {
    if (this.#failure !== undefined) throw this.#failure
    const { matched, connectScopes } = seen(app)
    const paths = [...this.#expected.keys(), ...this.#unwired, ...pathsOutOfReach(app, connectScopes, matched)]
    if (paths.length > 0) throw new Error(uncharged([...new Set(paths)]))
    const bare = this.#hooked.filter(({ route, hook, step }) => !hooksOf(route, step).includes(hook))
    if (bare.length > 0) throw new Error(unhooked([...new Set(bare.map(({ route }) => route.url))], bare[0]!.step))
  }
}

function seen({ server }: FastifyInstance): Seen {
  const known = seenOn.get(server) ?? { matched: new Set(), connectScopes: new Set() }
  seenOn.set(server, known)
  return known
}

function hooksOf(route: RouteOptions, step: Step): onRequestHookHandler[] {
  return [route[step] ?? []].flat() as onRequestHookHandler[]
}

function uncharged(paths: readonly string[]): string {
  return (
    `fastify-allowance does not charge ${paths.join(', ')}: register the RPC after the plugin, in its scope or below, ` +
    'through app.register(fastifyConnectPlugin, app.allowance.connect({ routes }))'
  )
}

function unhooked(paths: readonly string[], step: Step): string {
  return (
    `fastify-allowance does not charge ${paths.join(', ')}: an onRoute hook has taken its hook out of route.${step}; ` +
    `let that one add to what is there, route.${step} = [...[route.${step} ?? []].flat(), more], or register it before the plugin`
  )
}
