import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'

type ErrorHandler = NonNullable<RouteOptions['errorHandler']>

/** Makes the part of a route's error handler that leaves an error to whoever would have had it: the route's own before, or the scope's. */
export function passOn(before: RouteOptions['errorHandler']): ErrorHandler {
  return function allowancePassOn(error, request: FastifyRequest, reply: FastifyReply) {
    if (before !== undefined) return before.call(this, error, request, reply)
    // On to the error handler of the scope.
    if (error instanceof Error) throw error
    // What is thrown here and is no Error, Fastify would send as an answer.
    return request.server.errorHandler(error, request, reply)
  }
}
