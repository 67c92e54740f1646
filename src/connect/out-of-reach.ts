import type { FastifyInstance } from 'fastify'

/** A content type that connect-fastify parses, in the scope of each of its registrations that has RPCs. */
const CONNECT_CONTENT_TYPE = 'application/connect+json'

/**
 * The paths of RPCs from before the plugin, above its scope or beside it, whose routes no onRoute hook of the plugin
 * saw: those in a scope of connect-fastify that is not among `seen`.
 * @param matched URLs of routes that are charged.
 */
export function pathsOutOfReach(
  app: FastifyInstance,
  seen: ReadonlySet<FastifyInstance>,
  matched: ReadonlySet<string>,
): string[] {
  const prefixes = connectScopes(app).flatMap((scope) => (seen.has(scope) ? [] : [scope.prefix]))
  if (prefixes.length === 0) return []
  return routesOfEveryMethod(app).filter(
    (path) => isRpcPath(path) && !matched.has(path) && prefixes.some((prefix) => path.startsWith(prefix)),
  )
}

/** The scopes of the whole server in which connect-fastify has RPCs. Those below cannot have it again. */
function connectScopes(app: FastifyInstance): FastifyInstance[] {
  // Fastify shows its scopes nowhere else.
  const children = Object.getOwnPropertySymbols(app).find(({ description }) => description === 'fastify.children')
  if (children === undefined) return []
  let root = app
  for (let above = app; Object.hasOwn(above, children); above = Object.getPrototypeOf(above)) root = above
  const from = (scope: FastifyInstance): FastifyInstance[] =>
    scope.hasContentTypeParser(CONNECT_CONTENT_TYPE)
      ? [scope]
      : (scope as unknown as Record<symbol, FastifyInstance[]>)[children]!.flatMap(from)
  return from(root)
}

/** `…/package.Service/Method`. */
function isRpcPath(path: string): boolean {
  return /\/(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*\/[A-Za-z_]\w*$/.test(path)
}

/** The paths of routes for all methods, as connect-fastify adds them, read from Fastify's printed tree. */
function routesOfEveryMethod(app: FastifyInstance): string[] {
  // A method that hardly anybody asks for by name.
  const method = 'TRACE'
  const tree = app.printRoutes({ method, commonPrefix: false })
  const paths: string[] = []
  const ancestors: string[] = []
  for (const line of tree.split('\n')) {
    const node = /^(.*?)[├└]── (.*?) \(TRACE\)/.exec(line)
    if (node === null) continue
    // Each level is four columns deep, and a node's text continues that of its parent.
    const depth = node[1]!.length / 4
    ancestors[depth] = (ancestors[depth - 1] ?? '') + node[2]!
    paths.push(ancestors[depth]!)
  }
  return paths
}
