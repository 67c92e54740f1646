import type { IncomingMessage } from 'node:http'
import type { Http2ServerRequest, ServerHttp2Stream } from 'node:http2'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** How long a client may take to read the end of a response, in ms. */
const PATIENCE_MS = 500

/**
 * The hook of the route of an RPC whose client streams: ends a call whose response is written while its client may still send.
 * Nobody reads that any more, and a server cannot close before the call has ended.
 */
export async function endUnread(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const raw = request.raw as IncomingMessage | Http2ServerRequest
  if ('stream' in raw) {
    const { stream } = raw
    // The response itself tells of its end only when both sides have ended.
    stream.once('finish', () => {
      if (!raw.readableEnded) setImmediate(endWhenRead, stream)
    })
  } else {
    reply.raw.once('finish', () => {
      if (!raw.complete) raw.socket.destroySoon?.()
    })
  }
}

/**
 * Clients lose a response whose stream is ended before they have read it. They have when they answer a ping that follows it;
 * where none can be sent, as on a session that is closing, they get the time that it takes at most.
 */
function endWhenRead(stream: ServerHttp2Stream): void {
  const end = () => {
    clearTimeout(timer)
    if (!stream.destroyed) stream.resume().close()
  }
  const timer = setTimeout(end, PATIENCE_MS).unref()
  stream.once('close', () => clearTimeout(timer))
  stream.session?.ping((error) => error ?? end())
}
