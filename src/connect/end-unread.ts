import type { IncomingMessage } from 'node:http'
import type { Http2ServerRequest } from 'node:http2'
import type { FastifyRequest } from 'fastify'

/**
 * Ends a call whose response is written while its client may still send: nobody reads that any more, and a server cannot
 * close before it has ended. As it must be, clients that stream are told by the end of the HTTP/2 stream, or of the
 * connection on HTTP/1.1.
 */
export async function endUnread({ raw }: FastifyRequest): Promise<void> {
  const request = raw as IncomingMessage | Http2ServerRequest
  if ('stream' in request) {
    const { stream } = request
    // Ending it in the same turn as the answer makes clients lose the answer.
    if (!request.readableEnded) setImmediate(() => stream.destroyed || stream.resume().close())
  } else if (!request.complete) {
    request.socket.destroySoon?.()
  }
}
