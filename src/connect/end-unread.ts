import type { IncomingMessage } from 'node:http'
import type { Http2ServerRequest } from 'node:http2'
import type { preHandlerHookHandler } from 'fastify'
import { cutOffStream, endConnectionAfter } from '../rejection/cut-off.ts'
import type { RejectionOptions } from '../rejection/send.ts'

/**
 * Makes the hook of the route of an RPC whose client streams, which ends the call when its response has ended though its
 * client may still send: nobody reads that any more, and the server could not close before.
 */
export function endUnread({
  maxDiscardBytes,
  patience,
}: Omit<RejectionOptions, 'clientStreams'>): preHandlerHookHandler {
  return function allowanceEndUnread(request, reply, done) {
    const raw = request.raw as IncomingMessage | Http2ServerRequest
    if ('stream' in raw) cutOffStream(raw, patience)
    else endConnectionAfter(reply.raw, raw, maxDiscardBytes, patience)
    done()
  }
}
