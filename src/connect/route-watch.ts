import type { FastifyInstance, RouteOptions } from 'fastify'
import type { WiredRpc } from './wired-routes.ts'

/** The name of the hook of `chargeRequest`, which Fastify prints with the route. */
const HOOK_NAME = 'allowanceOnRequest'

/** The name of the handler that connect-fastify gives each of its routes. */
const CONNECT_HANDLER_NAME = 'handleFastifyRequest'
const CONNECT_PLUGIN_NAME = /fastify-?connect-?plugin/gi

/**
 * Makes sure that every RPC is charged: matches the RPCs that were wired with the Fastify routes that follow, and stops
 * the start, by name, for an RPC without a route in the plugin's reach, and for a route of connect-fastify without
 * charges. Nothing else would tell that a forgotten line makes an RPC free.
 */
export class RouteWatch {
  readonly #expected = new Map<string, WiredRpc>()
  readonly #connectScopes = new Set<FastifyInstance>()

  /** RPCs were wired: connect-fastify adds their routes right after. */
  expect(rpcs: readonly WiredRpc[]): void {
    for (const rpc of rpcs) this.#expected.set(rpc.requestPath, rpc)
  }

  /**
   * A route is being added. Returns its RPC, or undefined when it is none.
   * @throws Error when it is an RPC that was not wired.
   */
  match(scope: FastifyInstance, route: RouteOptions & { routePath: string }): WiredRpc | undefined {
    // Fastify drops the leading slash where the scope's prefix ends in one.
    const path = route.routePath.startsWith('/') ? route.routePath : `/${route.routePath}`
    const isConnectRoute = route.handler.name === CONNECT_HANDLER_NAME
    if (isConnectRoute) this.#connectScopes.add(scope)
    const rpc = this.#expected.get(path)
    if (rpc !== undefined) this.#expected.delete(path)
    else if (isConnectRoute) throw new Error(uncharged([route.url]))
    return rpc
  }

  /**
   * All routes are there.
   * @throws Error when an RPC is not charged.
   */
  check(app: FastifyInstance): void {
    if (this.#expected.size > 0) throw new Error(uncharged([...this.#expected.keys()]))
    // Routes from before the plugin, or from a scope beside its own, are only seen in what Fastify prints.
    const connectPlugins = app.printPlugins().match(CONNECT_PLUGIN_NAME)?.length ?? 0
    if (connectPlugins <= this.#connectScopes.size) return
    const strays = printedRoutes(app).filter(({ path, hooks }) => isRpcPath(path) && !hooks.includes(HOOK_NAME))
    if (strays.length > 0) throw new Error(uncharged(strays.map(({ path }) => path)))
  }
}

function uncharged(paths: readonly string[]): string {
  return (
    `fastify-allowance does not charge ${paths.join(', ')}: register the RPC after the plugin, in its scope or below, ` +
    'through app.register(fastifyConnectPlugin, app.allowance.connect({ routes }))'
  )
}

/** `…/package.Service/Method`. */
function isRpcPath(path: string): boolean {
  return /\/(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*\/[A-Za-z_]\w*$/.test(path)
}

/** Every POST route and the names of its onRequest hooks, read from Fastify's printed tree. */
function printedRoutes(app: FastifyInstance): { path: string; hooks: string }[] {
  const tree = app.printRoutes({ method: 'POST', commonPrefix: false, includeMeta: ['onRequest'] })
  const routes: { path: string; hooks: string }[] = []
  const ancestors: string[] = []
  for (const line of tree.split('\n')) {
    const node = /^(.*?)[├└]── (.*?) \(POST\)/.exec(line)
    if (node !== null) {
      // Each level is four columns deep, and a node's text continues that of its parent.
      const depth = node[1]!.length / 4
      ancestors[depth] = (ancestors[depth - 1] ?? '') + node[2]!
      routes.push({ path: ancestors[depth]!, hooks: '' })
    } else if (line.includes('• (onRequest)')) {
      routes.at(-1)!.hooks = line
    }
  }
  return routes
}
