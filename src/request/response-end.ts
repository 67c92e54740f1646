import type { FastifyReply } from 'fastify'

/** Whoever waits for the end of a connection. One listener for all, since requests may stand in line on it. */
const waiting = new WeakMap<object, Set<() => void>>()

/** Calls `run` once when a response is at its end: sent, or given up with its client or its connection. */
export function onEnd({ raw, request }: FastifyReply, run: () => void): void {
  const { socket } = request.raw
  // What is closed already tells nobody.
  if (raw.writableFinished || raw.destroyed || socket.destroyed) {
    run()
    return
  }
  const end = () => {
    raw.off('finish', end).off('close', end)
    stop()
    run()
  }
  // Of a response that stands in line behind others on its connection, older Node tells nothing when that goes.
  const stop = 'stream' in request.raw ? () => {} : whenClosed(socket, end)
  raw.once('finish', end).once('close', end)
}

function whenClosed(socket: FastifyReply['request']['raw']['socket'], run: () => void): () => void {
  let all = waiting.get(socket)
  if (all === undefined) {
    const others = new Set<() => void>()
    all = others
    waiting.set(socket, others)
    socket.once('close', () => {
      for (const other of others) other()
    })
  }
  all.add(run)
  return () => all.delete(run)
}
