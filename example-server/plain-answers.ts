import { constants, type ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

const NOT_FOUND = { error: 'not found' }
const BAD_REQUEST = { error: 'bad request' }
const CLIENT_ERRORS: Record<string, string> = {
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
}

/**
 * Answers that Fastify gives by itself, in words that repeat nothing of the request: a path that nothing is at, a request
 * that is no HTTP or has no host, and errors before or outside of an RPC.
 */
export function addPlainAnswers(app: FastifyInstance): void {
  // Before the body: Fastify would answer 415 to a body of a type that it cannot parse, and read the others.
  app.addHook('onRequest', async (request, reply) => {
    if (request.is404 && request.method !== 'OPTIONS') return refuseUnread(request, reply.code(404))
    return undefined
  })
  // connect-fastify makes a URL of it, and would not answer at all when it cannot.
  app.addHook('preValidation', async (request, reply) => {
    const host = request.headers[':authority'] ?? request.headers.host ?? ''
    if (!URL.canParse(`http://${host}`)) return reply.code(400).send(BAD_REQUEST)
    return undefined
  })
  app.setNotFoundHandler((_request, reply) => reply.code(404).send(NOT_FOUND))
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const status = error.statusCode ?? 500
    if (status >= 500) request.log.error({ err: error }, 'request failed')
    return reply.code(status).send(status >= 500 ? { error: 'internal error' } : BAD_REQUEST)
  })
}

/** Fastify's `frameworkErrors`: a path that cannot be decoded. */
export function answerFrameworkError(_error: FastifyError, _request: FastifyRequest, reply: FastifyReply): void {
  reply.code(400).send(BAD_REQUEST)
}

/** Fastify's `clientErrorHandler`: what came in is not HTTP, or not in time. Nothing of it is logged. */
export function answerClientError({ code = '' }: { code?: string }, socket: Socket): void {
  const status = CLIENT_ERRORS[code] ?? '400 Bad Request'
  if (socket.writable) socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
  else socket.destroy()
}

// The rest of the body is not waited for: HTTP/1.1 closes the connection, HTTP/2 the stream.
function refuseUnread(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { raw } = reply
  if ('stream' in raw) {
    const { stream } = raw as unknown as { stream: ServerHttp2Stream }
    raw.once('finish', () => setImmediate(() => stream.close(constants.NGHTTP2_NO_ERROR)))
  } else if (request.headers['content-length'] !== undefined || request.headers['transfer-encoding'] !== undefined) {
    reply.header('connection', 'close')
  }
  return reply.send(NOT_FOUND)
}
