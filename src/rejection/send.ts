import type { ConnectError } from '@connectrpc/connect'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../clock/clock.ts'
import type { DiscardLimits, RawRequest } from './discard-body.ts'
import { discardBody } from './discard-body.ts'
import { writeRejection } from './wire.ts'

/** What `sendRejection` has to know besides the request. */
export interface RejectionOptions {
  /** Whether the client may send many messages: it is answered at once, its body unread. */
  readonly clientStreams: boolean
  readonly discard: DiscardLimits
  readonly clock: Clock
}

/**
 * Refuses an RPC before its handler runs, in the request's own protocol. The body is not decoded: up to a bound it is
 * read and thrown away first, since clients on HTTP/2 break on an answer that comes while they send; what is left is
 * cut off, by ending the stream on HTTP/2 and the connection on HTTP/1.1. Headers that hooks have set on the reply
 * (CORS) go along. Resolves when the answer is written; the reply is hijacked and belongs to nobody else then.
 */
export async function sendRejection(
  request: FastifyRequest,
  reply: FastifyReply,
  error: ConnectError,
  options: RejectionOptions,
): Promise<void> {
  const raw = request.raw as RawRequest
  const bodyEnded = options.clientStreams ? raw.readableEnded : await discardBody(raw, options.discard, options.clock)
  const wire = writeRejection(error, request.headers['content-type'])
  const isHttp2 = 'stream' in raw

  reply.hijack()
  const out = reply.raw
  if (out.destroyed) return
  // Fastify would copy these itself in reply.send, which gRPC's trailers-only answer cannot go through.
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) out.setHeader(name, value as string)
  }
  for (const [name, value] of wire.headers) out.setHeader(name, value)
  if (wire.headers.getSetCookie().length > 0) out.setHeader('set-cookie', wire.headers.getSetCookie())
  out.statusCode = wire.status

  if (!isHttp2) {
    if (!bodyEnded) out.setHeader('connection', 'close')
    out.setHeader('content-length', Buffer.byteLength(wire.body ?? ''))
  } else if (!bodyEnded) {
    // A stream whose request is not at its end stays open, and would keep the server from closing. Ending it in the
    // same turn as the answer makes clients lose the answer. What has come by then must be read for it to be gone.
    const { stream } = raw
    stream.once('finish', () => setImmediate(() => stream.resume().close()))
  }
  if (wire.body === undefined) out.end()
  else out.end(wire.body)
}
