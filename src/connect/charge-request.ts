import { ConnectError } from '@connectrpc/connect'
import type { FastifyRequest, onRequestHookHandler } from 'fastify'
import type { ResolvedCaller } from '../limiter.ts'
import { isCutOff } from '../rejection/cut-off.ts'
import { leaveToFastify, type RejectionOptions } from '../rejection/send.ts'
import { ClientGoneError, type RequestAllowance } from '../request-allowance.ts'
import { leave, refuse } from './refuse.ts'

/**
 * Makes the hook of an RPC's route that works out the caller and spends its unit of `request`, before the body is read
 * or any other condition is looked at (RATE-014). It is the route's own hook, so that those of the whole instance, CORS
 * among them, have run whenever they were added.
 */
export function chargeRequest(
  requestCategory: number,
  allowanceFor: (request: FastifyRequest) => RequestAllowance,
  rejection: RejectionOptions,
): onRequestHookHandler {
  return function allowanceOnRequest(request, reply, done) {
    // A preflight asks whether a request may be made; it is none.
    if (request.method === 'OPTIONS') return done()
    if (isCutOff(request.raw)) return leave(request, reply)
    const allowance = allowanceFor(request)
    const fail = (error: unknown) => {
      if (reply.sent) return
      if (error instanceof ConnectError) return void refuse(request, reply, error, rejection)
      if (error instanceof ClientGoneError) return leave(request, reply)
      const answer = () => done(error as Error)
      leaveToFastify(request, reply, rejection).then(answer, answer)
    }
    const charge = (caller: ResolvedCaller) => {
      // While it was not yet known who it is, the request may have been answered: by Fastify's handlerTimeout.
      if (reply.sent) return
      let denied: ConnectError | undefined
      try {
        denied = allowance.charge(caller, requestCategory, 1)
      } catch (error) {
        return fail(error)
      }
      if (denied === undefined) done()
      else void refuse(request, reply, denied, rejection)
    }

    let caller: ResolvedCaller | Promise<ResolvedCaller>
    try {
      caller = allowance.identify()
    } catch (error) {
      return fail(error)
    }
    if (caller instanceof Promise) caller.then(charge, fail)
    else charge(caller)
  }
}
