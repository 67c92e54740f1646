import type { IncomingMessage, ServerResponse } from 'node:http'
import { constants, type Http2Session, type ServerHttp2Stream } from 'node:http2'
import { Socket } from 'node:net'
import { linger, type RawRequest } from './discard-body.ts'
import type { Patience } from './patience.ts'

/**
 * Has an HTTP/2 stream end with its response though its request has not ended: it would stay open and keep the server from
 * closing. Ended in the same moment as the response, it makes clients lose the response; so it ends when a ping sent after
 * it has come back, and at the latest when the patience ends.
 */
export function cutOffStream(stream: ServerHttp2Stream, patience: Patience): void {
  stream.once('finish', () => {
    if (stream.readableEnded) return
    // What has come by then must be read for it to be gone.
    const end = () => stream.destroyed || stream.resume().close()
    stream.once('close', patience.wait(end))
    roundTrip(stream.session, end)
  })
}

/** Gives up an HTTP/2 stream whose client does not take its answer. */
export function expireAnswer(stream: ServerHttp2Stream, patience: Patience): void {
  // Almost every answer is taken by then.
  setImmediate(() => {
    if (stream.destroyed || stream.writableFinished) return
    const stopWaiting = patience.wait(() => stream.resume().close(constants.NGHTTP2_CANCEL))
    stream.once('finish', stopWaiting).once('close', stopWaiting)
  })
}

const queues = new WeakMap<Http2Session, (() => void)[]>()

/**
 * Calls `then` when the client has read what was sent until now; never, if it cannot be asked, as on a session that closes.
 * All streams of a session share its pings, of which Node allows few at a time.
 */
function roundTrip(session: Http2Session | undefined, then: () => void): void {
  if (session === undefined || session.destroyed) return
  const queue = queues.get(session)
  // The ping that is under way may have been sent before the answer.
  if (queue !== undefined) return void queue.push(then)
  const waiting: (() => void)[] = []
  queues.set(session, waiting)
  session.ping((error) => {
    queues.delete(session)
    if (error !== null) return
    then()
    if (waiting.length === 0) return
    roundTrip(session, () => {
      for (const next of waiting) next()
    })
  })
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

/**
 * Has an HTTP/1.1 connection end after a response that ended before its request did, unless the request ends soon: within
 * `maxBytes` and the patience.
 */
export function endConnectionAfter(
  response: ServerResponse,
  raw: IncomingMessage,
  maxBytes: number,
  patience: Patience,
): void {
  const { socket } = raw
  response.once('finish', async () => {
    if (raw.complete || !(socket instanceof Socket)) return
    await linger(raw, maxBytes, patience)
    if (!raw.complete) socket.destroySoon()
  })
}
