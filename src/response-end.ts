import type { FastifyReply } from 'fastify'

/**
 * Calls `run` once when a response is at its end: sent, or given up with its client or its connection.
 * @throws Error when the reply is not known.
 */
export function onEnd(reply: FastifyReply | null, run: () => void): void {
  if (reply === null) {
    throw new Error('nothing can be held or reserved before the hooks of the route: do it there, or in the handler')
  }
  const { raw } = reply
  // What is closed already tells nobody.
  if (raw.writableFinished || raw.destroyed) return run()
  const end = () => {
    raw.off('finish', end).off('close', end)
    run()
  }
  raw.once('finish', end).once('close', end)
}
