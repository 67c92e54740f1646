import type { FastifyReply, FastifyRequest } from 'fastify'

/** Ends a request that nobody can be answered: with it its stream on HTTP/2, its connection on HTTP/1.1. */
export function leave({ raw }: FastifyRequest, reply: FastifyReply): void {
  reply.hijack()
  raw.destroy()
  if (!('stream' in raw)) raw.socket.destroy()
}

/**
 * Leaves a request alone that stands behind one with whose answer its connection ends: answers before that one are yet to be
 * written, and nothing is to be read of what comes after it (RFC 9112, section 9.6).
 */
export function ignore(reply: FastifyReply): void {
  reply.hijack()
}
