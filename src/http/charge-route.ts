import { ConnectError } from '@connectrpc/connect'
import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import type { Denial } from '../limiter/denial.ts'
import type { Reservation } from '../limiter/reservation.ts'
import { isCutOff } from '../rejection/cut-off.ts'
import { asPlainError } from '../rejection/http.ts'
import { ignore, leave } from '../rejection/leave.ts'
import { leaveToFastify } from '../rejection/send.ts'
import type { RequestAllowance } from '../request/request-allowance.ts'
import { ClientGoneError } from '../request/request-origin.ts'
import { type AnswerOptions, refuseRequest, tellWhatIsLeft } from './answer.ts'
import type { RouteTerms } from './route-terms.ts'

/**
 * Makes the hook that charges a request of a plain route, or one that no route takes, in whichever step, and then takes its
 * holds. What the charge spent stays spent when a hold is refused.
 */
export function chargeRoute(
  terms: RouteTerms,
  allowanceFor: (request: FastifyRequest, reply: FastifyReply) => RequestAllowance,
  answer: AnswerOptions,
): onRequestHookHandler {
  return function allowanceChargeRoute(request, reply, done) {
    if (isCutOff(request.raw)) return ignore(reply)
    const allowance = allowanceFor(request, reply)
    const fail = (error: unknown) => {
      if (reply.sent) return
      if (error instanceof ClientGoneError) return leave(request, reply)
      const goOn = () => {
        if (!reply.sent) done(error instanceof ConnectError ? asPlainError(error) : (error as Error))
      }
      leaveToFastify(request, reply, answer.rejection)
        .then(() => tellWhatIsLeft(reply, allowance, answer))
        .then(goOn, goOn)
    }
    const settle = (denial: Denial | undefined) => {
      // Fastify's handlerTimeout may have answered.
      if (reply.sent) return
      if (denial !== undefined) return void refuseRequest(request, reply, allowance, denial, answer).catch(fail)
      try {
        tellWhatIsLeft(reply, allowance, answer)
      } catch (error) {
        return fail(error)
      }
      done()
    }
    let denial: Denial | undefined | Promise<Denial | undefined>
    try {
      denial = charge(request, allowance, terms)
    } catch (error) {
      return fail(error)
    }
    if (denial instanceof Promise) denial.then(settle, fail)
    else settle(denial)
  }
}

function charge(
  request: FastifyRequest,
  allowance: RequestAllowance,
  terms: RouteTerms,
): Denial | undefined | Promise<Denial | undefined> {
  const { boundsOf } = terms
  if (boundsOf !== undefined) allowance.boundsOfRoute = () => boundsOf(request)
  const charges = terms.chargesOf(request)
  const denial = allowance.chargeFirst(charges, false)
  return terms.holds.length === 0 ? denial : thenHold(denial, allowance, terms.holds)
}

async function thenHold(
  charged: Denial | undefined | Promise<Denial | undefined>,
  allowance: RequestAllowance,
  holds: readonly string[],
): Promise<Denial | undefined> {
  const denial = await charged
  if (denial !== undefined) return denial
  const kept: Reservation[] = []
  for (const name of holds) {
    const made = await allowance.tryHold(name)
    const refused = allowance.keep(made)
    if (refused !== undefined) {
      // Not until the refusal is taken, for which its client has time.
      for (const hold of kept) hold.release()
      return refused
    }
    kept.push(made as Reservation)
  }
  return undefined
}
