import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { cleanUrl, isRoutable } from './clean-path.ts'
import { Refused } from './refused.ts'

/** What a router never finds: here go the requests whose path it must not look at. */
const NOWHERE = '/.nowhere'

/** Fastify's `rewriteUrl`: what is not in its clean form reaches no route, but is a request like any other. */
export function toRoutable({ url = '' }: { url?: string | undefined }): string {
  // A proxy's form of the request line, with the origin: what is behind it counts.
  const path = url.replace(/^https?:\/\/[^/?#]*(?=\/)/i, '')
  return isRoutable(path) ? path : NOWHERE
}

const MESSAGES: Record<number, string> = {
  400: 'bad request',
  413: 'the body is too long',
  415: 'the body must be application/json',
}

/**
 * Answers where no handler does: errors, and requests that no route takes, before their body is read. A path that is not
 * in its clean form is redirected there, with the method and the body that the request has.
 * @param methodsOf The methods that a path takes.
 */
export function addAnswers(app: FastifyInstance, methodsOf: (path: string) => readonly string[]): void {
  // The step after the one in which the plugin charges them, as its hooks come first.
  app.addHook('preParsing', async (request, reply, payload) => {
    return request.is404 ? answerUnrouted(request, reply, methodsOf) : payload
  })
  app.setNotFoundHandler((request, reply) => answerUnrouted(request, reply, methodsOf))
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const { statusCode: status = 500 } = error
    if (error instanceof Refused) return reply.code(status).send({ error: error.message })
    if (status < 500) return reply.code(status).send({ error: MESSAGES[status] ?? MESSAGES[400] })
    request.log.error({ err: error }, 'request failed')
    return reply.code(500).send({ error: 'internal error' })
  })
}

function answerUnrouted(request: FastifyRequest, reply: FastifyReply, methodsOf: (path: string) => readonly string[]) {
  const { originalUrl } = request
  const path = originalUrl.replace(/^https?:\/\/[^/?#]*(?=\/)/i, '')
  const clean = cleanUrl(originalUrl)
  if (clean !== path && path.startsWith('/')) return reply.code(308).header('location', clean).send()
  if (!isRoutable(path)) return reply.code(400).send({ error: 'the path cannot be read' })
  const methods = methodsOf(path.replace(/[?#].*$/s, ''))
  if (methods.length === 0) return reply.code(404).send({ error: 'not found' })
  return reply.code(405).header('allow', methods.join(', ')).send({ error: 'method not allowed' })
}
