import { ConnectError } from '@connectrpc/connect'
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { passOn } from '../rejection/pass-on.ts'
import type { RejectionOptions } from '../rejection/send.ts'
import { refuse } from './refuse.ts'

/**
 * Makes the error handler of an RPC's route. A ConnectError that a hook of the app throws, as a spend there does, is answered in the
 * protocol of the request, since clients of an RPC read no other; the rest goes where it went before.
 */
export function answerErrors(
  before: RouteOptions['errorHandler'],
  options: RejectionOptions,
): NonNullable<RouteOptions['errorHandler']> {
  const others = passOn(before)
  return function allowanceErrorHandler(error, request: FastifyRequest, reply: FastifyReply) {
    if (error instanceof ConnectError) return refuse(request, reply, error, options)
    return others.call(this, error, request, reply)
  }
}
