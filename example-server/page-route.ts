import type { FastifyInstance, FastifyReply } from 'fastify'
import { fill, type Page, tagOf } from './page-files.ts'

/** What the page may do: run and show what comes from here, call any server, and never make HTML out of text. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  'connect-src http: https:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

/** How long browsers may use files of the page without asking: for ever, as their names say what is in them, or never. */
export type FileCaching = 'immutable' | 'no-cache'

const CACHE_CONTROL = { immutable: 'public, max-age=31536000, immutable', 'no-cache': 'no-cache' } as const

/**
 * Serves the page at `/`, and its files. Nothing of it is an RPC.
 * @param demoKey An API key that everybody knows, for the page to offer. Default: none.
 */
export function addPage(app: FastifyInstance, page: Page, demoKey = '', caching: FileCaching = 'immutable'): void {
  const html = fill(page.html, { demoKey })
  const tag = tagOf(html)
  app.get('/', (request, reply) => {
    // Asked for again each time, so that it names the files of this start.
    guarded(reply).headers({ 'cache-control': 'no-cache', etag: tag, 'content-security-policy': POLICY })
    if (request.headers['if-none-match'] === tag) return reply.code(304).send()
    return reply.type('text/html; charset=utf-8').send(html)
  })
  for (const { path, type, body } of page.files) {
    const tag = tagOf(body)
    app.get(path, (request, reply) => {
      guarded(reply).headers({ 'cache-control': CACHE_CONTROL[caching], etag: tag })
      if (request.headers['if-none-match'] === tag) return reply.code(304).send()
      return reply.type(type).send(body)
    })
  }
}

function guarded(reply: FastifyReply): FastifyReply {
  return reply.headers({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' })
}
