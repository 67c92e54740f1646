import { ConnectError } from '@connectrpc/connect'
import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import { isClientStreaming } from '../charge/rpc-plan.ts'
import type { ResolvedCaller } from '../limiter.ts'
import { isCutOff } from '../rejection/cut-off.ts'
import { leaveToFastify, type RejectionOptions, sendRejection } from '../rejection/send.ts'
import { ClientGoneError, type RequestAllowance } from '../request-allowance.ts'
import type { WiredRpc } from './wired-routes.ts'

/**
 * Makes the hook of an RPC's route that works out the caller and spends its unit of `request`, before the body is read
 * or any other condition is looked at (RATE-014). It is the route's own hook, so that those of the whole instance, CORS
 * among them, have run whenever they were added.
 */
export function chargeRequest(
  rpc: WiredRpc,
  requestCategory: number,
  allowanceFor: (request: FastifyRequest) => RequestAllowance,
  options: Omit<RejectionOptions, 'clientStreams'>,
): onRequestHookHandler {
  const rejection = { ...options, clientStreams: isClientStreaming(rpc.plan.method) }

  return function allowanceOnRequest(request, reply, done) {
    // A preflight asks whether a request may be made; it is none.
    if (request.method === 'OPTIONS') return done()
    if (isCutOff(request.raw)) return leave(request, reply)
    const allowance = allowanceFor(request)
    const fail = (error: unknown) => {
      if (reply.sent) return
      if (error instanceof ConnectError) return refuse(request, reply, error, rejection)
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
      else refuse(request, reply, denied, rejection)
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

function refuse(request: FastifyRequest, reply: FastifyReply, error: ConnectError, options: RejectionOptions): void {
  sendRejection(request, reply, error, options).catch((cause: unknown) => {
    request.log.error({ err: cause }, 'a rejection could not be written')
    leave(request, reply)
  })
}

/** Ends a request that nobody can be answered: with it its stream on HTTP/2, its connection on HTTP/1.1. */
function leave({ raw }: FastifyRequest, reply: FastifyReply): void {
  reply.hijack()
  raw.destroy()
  if (!('stream' in raw)) raw.socket.destroy()
}
