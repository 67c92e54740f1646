import { STATUS_CODES } from 'node:http'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** What the gateway says for itself, as problem details (RFC 9457). Nothing of the request is repeated. */
export function sendProblem(
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  more: { detail?: string; problems?: readonly string[] } = {},
): FastifyReply {
  // The rest of a body is not waited for.
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers
  if (!request.raw.complete && (length !== '0' || encoding !== undefined)) reply.header('connection', 'close')
  return reply
    .code(status)
    .type('application/problem+json; charset=utf-8')
    .send({ type: 'about:blank', title: STATUS_CODES[status] ?? 'Error', status, ...more })
}

/** Thrown where a request carries a credential that is no good. */
export class Unauthenticated extends Error {
  readonly statusCode = 401
}

export function addErrorAnswers(app: FastifyInstance): void {
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const { statusCode = 500 } = error
    const status = statusCode >= 400 && statusCode <= 599 ? statusCode : 500
    if (status >= 500) request.log.error({ err: error }, 'request failed')
    if (error instanceof Unauthenticated) reply.header('www-authenticate', 'ApiKey realm="gateway"')
    return sendProblem(request, reply, status)
  })
}

/** Fastify's `frameworkErrors`: a path that cannot be decoded. */
export function answerBadPath(_error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  sendProblem(request, reply, 400)
}
