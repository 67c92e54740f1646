import { constants } from 'node:http2'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { cutOffConnection, cutOffStream, expireAnswer } from './cut-off.ts'
import { bodyHasEnded, discardBody, type RawRequest } from './discard-body.ts'
import type { Patience } from './patience.ts'
import type { Fields, WireRejection } from './wire-rejection.ts'

/** What `sendRejection` has to know besides the request. */
export interface RejectionOptions {
  /** Whether the client may send many messages: it is answered at once, its body unread. */
  readonly clientStreams: boolean
  /** Bytes of a refused request's body that are read and thrown away before it is answered, and again after. */
  readonly maxDiscardBytes: number
  readonly patience: Patience
}

/**
 * Refuses an RPC before its handler runs, in the request's own protocol. The body is not decoded: up to a bound it is
 * read and thrown away first, since clients break on an answer that comes while they send; what is left is cut off, by
 * ending the stream on HTTP/2 and the connection on HTTP/1.1. Headers that hooks have set on the reply (CORS) go along.
 * Resolves when the answer is written; the reply is hijacked and belongs to nobody else from the start.
 * @param write Writes it in the protocol of a request with this content type.
 */
export async function sendRejection(
  request: FastifyRequest,
  reply: FastifyReply,
  write: (contentType: string | undefined) => WireRejection<Headers | Fields>,
  options: RejectionOptions,
): Promise<void> {
  const raw = request.raw as RawRequest
  reply.hijack()
  const bodyEnded = await discardUnread(raw, options)
  const { status, headers, body } = write(request.headers['content-type'])

  const out = reply.raw
  if (out.destroyed) return
  if (out.headersSent) throw new Error('a response has begun already')
  // Fastify would copy these itself in reply.send, which gRPC's trailers-only answer cannot go through.
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) out.setHeader(name, value as string)
  }
  for (const [name, value] of headers) out.setHeader(name, value)
  if (headers instanceof Headers && headers.has('set-cookie')) out.setHeader('set-cookie', headers.getSetCookie())
  out.statusCode = status

  if ('stream' in raw) {
    if (!bodyEnded) cutOffStream(raw, options.patience)
    expireAnswer(raw, options.patience)
  } else {
    out.setHeader('content-length', body?.length ?? 0)
    if (!bodyEnded) {
      out.setHeader('connection', 'close')
      cutOffConnection(raw, options.maxDiscardBytes, options.patience)
    }
  }
  if (body === undefined) out.end()
  else out.end(body, 'latin1')
}

/**
 * Makes a request whose body nobody will read ready for Fastify to answer: throws the body away, or sees to it that it is
 * cut off after the answer.
 */
export async function leaveToFastify(
  request: FastifyRequest,
  reply: FastifyReply,
  options: RejectionOptions,
): Promise<void> {
  const raw = request.raw as RawRequest
  if (await discardUnread(raw, options)) return
  if (reply.raw.writableEnded) {
    // Fastify's handlerTimeout has answered meanwhile, and nobody else ends the request.
    if ('stream' in raw) raw.stream.close(constants.NGHTTP2_NO_ERROR)
    else raw.socket.destroySoon()
  } else if ('stream' in raw) {
    cutOffStream(raw, options.patience)
  } else {
    reply.header('connection', 'close')
    cutOffConnection(raw, options.maxDiscardBytes, options.patience)
  }
}

async function discardUnread(raw: RawRequest, options: RejectionOptions): Promise<boolean> {
  return options.clientStreams ? bodyHasEnded(raw) : discardBody(raw, options.maxDiscardBytes, options.patience)
}
