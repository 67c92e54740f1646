import { ConnectError } from '@connectrpc/connect'
import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import type { Denial } from '../limiter/denial.ts'
import { isCutOff } from '../rejection/cut-off.ts'
import type { DenialEncoder } from '../rejection/encoded-denial.ts'
import { ignore, leave } from '../rejection/leave.ts'
import { leaveToFastify, type RejectionOptions } from '../rejection/send.ts'
import type { RequestAllowance } from '../request/request-allowance.ts'
import { ClientGoneError } from '../request/request-origin.ts'
import { refuse } from './refuse.ts'

/**
 * Makes the hook of an RPC's route that works out the caller and spends its unit of `request`, before the body is read
 * or any other condition is looked at (RATE-014). It is the route's own hook, so that those of the whole instance, CORS
 * among them, have run whenever they were added.
 */
export function chargeRequest(
  requestCategory: number,
  allowanceFor: (request: FastifyRequest, reply: FastifyReply) => RequestAllowance,
  rejection: RejectionOptions,
  denials: DenialEncoder,
): onRequestHookHandler {
  const charges = [{ category: requestCategory, cost: 1 }]
  const fail = (error: unknown, request: FastifyRequest, reply: FastifyReply, done: Done) => {
    if (reply.sent) return
    if (error instanceof ConnectError) return void refuse(request, reply, error, rejection)
    if (error instanceof ClientGoneError) return leave(request, reply)
    const answer = () => done(error as Error)
    leaveToFastify(request, reply, rejection).then(answer, answer)
  }
  const settle = (denial: Denial | undefined, request: FastifyRequest, reply: FastifyReply, done: Done) => {
    // While it was not yet known who it is, the request may have been answered: by Fastify's handlerTimeout.
    if (reply.sent) return
    if (denial === undefined) done()
    else void refuse(request, reply, denials.encode(denial), rejection)
  }
  return function allowanceOnRequest(request, reply, done) {
    // A preflight asks whether a request may be made; it is none.
    if (request.method === 'OPTIONS') return done()
    if (isCutOff(request.raw)) return ignore(reply)
    let denial: Denial | undefined | Promise<Denial | undefined>
    try {
      denial = allowanceFor(request, reply).chargeFirst(charges, true)
    } catch (error) {
      return fail(error, request, reply, done)
    }
    if (!(denial instanceof Promise)) {
      if (denial !== undefined || !mayWait(request.raw)) return settle(denial, request, reply, done)
      return void parsed.then(() => settle(undefined, request, reply, done))
    }
    denial.then(
      (late) => settle(late, request, reply, done),
      (error) => fail(error, request, reply, done),
    )
  }
}

/**
 * Kept as soon as Node has parsed all that has come with the header of an HTTP/1.1 request, which is mostly all of its body.
 * For Connect to find that there costs less than to wait for it.
 */
const parsed = Promise.resolve()

/** Not on HTTP/2; nor for a body that somebody reads along, of which Connect would miss what comes until then. */
function mayWait({ httpVersionMajor, readableFlowing }: FastifyRequest['raw']): boolean {
  return httpVersionMajor === 1 && readableFlowing === null
}

type Done = Parameters<onRequestHookHandler>[2]
