import type { IncomingMessage } from 'node:http'
import { constants, type Http2Session, type ServerHttp2Stream } from 'node:http2'
import { Socket } from 'node:net'
import { linger, type RawRequest } from './discard-body.ts'
import type { Patience } from './patience.ts'

/**
 * Ends an HTTP/2 stream whose answer is written. A stream whose request has not ended would stay open and keep the server
 * from closing; ended in the same moment as its answer, it makes clients lose the answer. So it ends when a ping that
 * was sent after the answer has come back, and at the latest when the patience ends, also for a client that never takes
 * the answer.
 */
export function cutOffStream(stream: ServerHttp2Stream, bodyEnded: boolean, patience: Patience): void {
  if (!bodyEnded) {
    // What has come by then must be read for it to be gone.
    stream.once('finish', () => roundTrip(stream.session, () => stream.destroyed || stream.resume().close()))
  }
  setImmediate(() => {
    if (stream.destroyed || (bodyEnded && stream.writableFinished)) return
    const stopWaiting = patience.wait(() => stream.resume().close(constants.NGHTTP2_CANCEL))
    stream.once('close', stopWaiting)
  })
}

const queues = new WeakMap<Http2Session, (() => void)[]>()

/**
 * Calls `then` when the client has read what was sent until now. All streams of a session share its pings, of which Node
 * allows few at a time.
 */
function roundTrip(session: Http2Session | undefined, then: () => void): void {
  if (session === undefined || session.destroyed) return
  const queue = queues.get(session)
  if (queue !== undefined) {
    // The ping that is under way may have been sent before the answer.
    queue.push(then)
    return
  }
  queues.set(session, [])
  const done = () => {
    const [next, ...others] = queues.get(session) ?? []
    queues.delete(session)
    then()
    if (next !== undefined) {
      roundTrip(session, () => {
        next()
        for (const other of others) other()
      })
    }
  }
  if (!session.ping(done)) setImmediate(done)
}

const cutOff = new WeakSet<Socket>()

/**
 * Has an HTTP/1.1 connection end after the answer that is about to be written, though its request has not ended. Node would
 * close it with something unread, which resets it, and clients lose the answer that they have not read yet. So the
 * server goes on reading, up to `maxBytes`, until the client has seen the answer and stops, or the patience ends.
 */
export function cutOffConnection(raw: IncomingMessage, maxBytes: number, patience: Patience): void {
  const { socket } = raw
  // That of `inject` is none.
  if (!(socket instanceof Socket)) return
  cutOff.add(socket)
  // What Node calls when the answer is written.
  socket.destroySoon = () => {}
  linger(raw, maxBytes, patience).then(() => {
    socket.destroySoon = Socket.prototype.destroySoon
    socket.destroySoon()
  })
}

/** Whether a request comes after one on its HTTP/1.1 connection with whose answer that ends (RFC 9112, section 9.6). */
export function isCutOff({ socket }: RawRequest): boolean {
  return cutOff.has(socket)
}
