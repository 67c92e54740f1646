import type { FastifyReply } from 'fastify'

/** Calls `run` once when a response is at its end: sent, or given up with its client or its connection. */
export function onEnd({ raw }: FastifyReply, run: () => void): void {
  // What is closed already tells nobody.
  if (raw.writableFinished || raw.destroyed) {
    run()
    return
  }
  const end = () => {
    raw.off('finish', end).off('close', end)
    run()
  }
  raw.once('finish', end).once('close', end)
}
