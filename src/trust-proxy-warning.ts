import type { FastifyInstance } from 'fastify'

/** Who switches on Fastify's `trustProxy` expects forwarded addresses to count: warns that they do not without `trustedProxies`. */
export function warnAboutTrustProxy(app: FastifyInstance): void {
  for (let at: object | null = app; at !== null; at = Object.getPrototypeOf(at)) {
    // Fastify shows this option nowhere else.
    const key = Object.getOwnPropertySymbols(at).find(({ description }) => description === 'fastify.options')
    if (key === undefined) continue
    if ((at as Record<symbol, { trustProxy?: unknown } | undefined>)[key]?.trustProxy) {
      app.log.warn(
        'trustProxy is on, but rateLimits.trustedProxies is empty: callers without a credential are charged to the ' +
          'address of the proxy, which they share',
      )
    }
    return
  }
}
