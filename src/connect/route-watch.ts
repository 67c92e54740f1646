import type { FastifyInstance, RouteOptions } from 'fastify'
import type { WiredRpc } from './wired-routes.ts'

/** The name of the handler that connect-fastify gives each of its routes. */
const CONNECT_HANDLER_NAME = 'handleFastifyRequest'
/** Its plugin in the tree that Fastify prints, also when fastify-plugin wrapped it. Not in the source of a plugin without a name. */
const CONNECT_PLUGIN_LINE = /^[\s│├└─┬]*fastifyConnectPlugin(?:-auto-\d+)? \d+ ms$/gm

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
 * the start, by name, for an RPC without a route in the plugin's reach, and for a route of connect-fastify without
 * charges. Nothing else would tell that a forgotten line makes an RPC free.
 */
export class RouteWatch {
  readonly #expected = new Map<string, WiredRpc>()
  readonly #unwired: string[] = []
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
    if (isConnectRoute) connectScopes.add(scope)
    const rpc = this.#expected.get(path)
    if (rpc !== undefined) {
      this.#expected.delete(path)
      matched.add(route.url)
    } else if (isConnectRoute) {
      this.#unwired.push(route.url)
    }
    return rpc
  }

  /**
   * All routes are there.
   * @throws Error when an RPC is not charged; what wiring them threw.
   */
  check(app: FastifyInstance): void {
    if (this.#failure !== undefined) throw this.#failure
    const paths = [...this.#expected.keys(), ...this.#unwired, ...this.#outOfReach(app)]
    if (paths.length > 0) throw new Error(uncharged([...new Set(paths)]))
  }

  /** RPCs from before the plugin, or from a scope beside its own, which are only seen in what Fastify prints. */
  #outOfReach(app: FastifyInstance): string[] {
    const connectPlugins = app.printPlugins().match(CONNECT_PLUGIN_LINE)?.length ?? 0
    const { matched, connectScopes } = seen(app)
    if (connectPlugins <= connectScopes.size) return []
    return printedRoutes(app).filter((path) => isRpcPath(path) && !matched.has(path))
  }
}

function seen({ server }: FastifyInstance): Seen {
  const known = seenOn.get(server) ?? { matched: new Set(), connectScopes: new Set() }
  seenOn.set(server, known)
  return known
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

/** The path of every POST route, read from Fastify's printed tree. */
function printedRoutes(app: FastifyInstance): string[] {
  const tree = app.printRoutes({ method: 'POST', commonPrefix: false })
  const paths: string[] = []
  const ancestors: string[] = []
  for (const line of tree.split('\n')) {
    const node = /^(.*?)[├└]── (.*?) \(POST\)/.exec(line)
    if (node === null) continue
    // Each level is four columns deep, and a node's text continues that of its parent.
    const depth = node[1]!.length / 4
    ancestors[depth] = (ancestors[depth - 1] ?? '') + node[2]!
    paths.push(ancestors[depth]!)
  }
  return paths
}
