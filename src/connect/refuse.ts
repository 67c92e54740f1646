import type { ConnectError } from '@connectrpc/connect'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { EncodedDenial } from '../rejection/encoded-denial.ts'
import { leave } from '../rejection/leave.ts'
import { type RejectionOptions, sendRejection } from '../rejection/send.ts'
import { writeDenial, writeRejection } from '../rejection/wire.ts'

/** Answers a request with an error or a denial, in its own protocol, or ends it when that cannot be done. Never rejects. */
export async function refuse(
  request: FastifyRequest,
  reply: FastifyReply,
  rejected: ConnectError | EncodedDenial,
  options: RejectionOptions,
): Promise<void> {
  try {
    const write = (contentType: string | undefined) =>
      rejected instanceof Error ? writeRejection(rejected, contentType) : writeDenial(rejected, contentType)
    await sendRejection(request, reply, write, options)
  } catch (cause) {
    request.log.error({ err: cause }, 'a rejection could not be written')
    leave(request, reply)
  }
}
