import type { FastifyReply, FastifyRequest } from 'fastify'

/** Ends a request that nobody can be answered: with it its stream on HTTP/2, its connection on HTTP/1.1. */
export function leave({ raw }: FastifyRequest, reply: FastifyReply): void {
  reply.hijack()
  raw.destroy()
  if (!('stream' in raw)) raw.socket.destroy()
}
