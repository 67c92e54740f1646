import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { asPlainError } from '../rejection/http.ts'
import { passOn } from '../rejection/pass-on.ts'
import type { RequestAllowance } from '../request/request-allowance.ts'
import { type AnswerOptions, refuseRequest } from './answer.ts'

/**
 * Makes the error handler of a plain route. A denial that `request.spend` and its like threw is answered as the route's own
 * refusals are; the rest goes where it went before.
 */
export function answerDenials(
  before: RouteOptions['errorHandler'],
  allowanceFor: (request: FastifyRequest, reply: FastifyReply) => RequestAllowance,
  answer: AnswerOptions,
): NonNullable<RouteOptions['errorHandler']> {
  const others = passOn(before)
  return function allowanceErrorHandler(error, request, reply) {
    const allowance = allowanceFor(request, reply)
    const denial = allowance.denialOf(error)
    if (denial === undefined)
      return others.call(this, allowance.hasThrown(error) ? asPlainError(error) : error, request, reply)
    return refuseRequest(request, reply, allowance, denial, answer).then(() => reply)
  }
}
