import type { ConnectError } from '@connectrpc/connect'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { leave } from '../rejection/leave.ts'
import { type RejectionOptions, sendRejection } from '../rejection/send.ts'

/** Answers a request with an error, in its own protocol, or ends it when that cannot be done. Never rejects. */
export async function refuse(
  request: FastifyRequest,
  reply: FastifyReply,
  error: ConnectError,
  options: RejectionOptions,
): Promise<void> {
  try {
    await sendRejection(request, reply, error, options)
  } catch (cause) {
    request.log.error({ err: cause }, 'a rejection could not be written')
    leave(request, reply)
  }
}
