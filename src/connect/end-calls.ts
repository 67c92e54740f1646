import type { FastifyRequest, preHandlerHookHandler } from 'fastify'
import { cutOffStream, endConnectionAfter, expireResponse } from '../rejection/cut-off.ts'
import type { RawRequest } from '../rejection/discard-body.ts'
import type { RejectionOptions } from '../rejection/send.ts'
import type { RequestAllowance } from '../request/request-allowance.ts'

/**
 * Makes the hook of the route of a streaming RPC, by which its call ends with its response, whatever its client does: when the
 * client may still send, since nobody reads that any more, and, if it opened a stream that pays no more, when it does not
 * take what is left of the response. The server could not close before, and what the call holds would be held for nothing.
 */
export function endCalls(
  { clientStreams, maxDiscardBytes, patience }: RejectionOptions,
  allowanceFor: (request: FastifyRequest) => RequestAllowance,
): preHandlerHookHandler {
  return function allowanceEndCalls(request, reply, done) {
    const raw = request.raw as RawRequest
    if (clientStreams) {
      if ('stream' in raw) cutOffStream(raw, patience)
      else endConnectionAfter(reply.raw, raw, maxDiscardBytes, patience)
    }
    allowanceFor(request).onResponseEnd = () => expireResponse(raw, reply.raw, patience)
    done()
  }
}
