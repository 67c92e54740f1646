import type { IncomingMessage, ServerResponse } from 'node:http'
import { constants, type Http2ServerRequest, type Http2Session, type ServerHttp2Stream } from 'node:http2'
import { Socket } from 'node:net'
import type { FastifyReply } from 'fastify'
import { flow, linger, type RawRequest } from './discard-body.ts'
import type { Patience } from './patience.ts'

/**
 * Has an HTTP/2 stream end with its response though its request has not ended: it would stay open and keep the server from
 * closing. Ended in the same moment as the response, it makes clients lose the response; so it ends when a ping sent after
 * it has come back, and at the latest when the patience ends.
 */
export function cutOffStream(raw: Http2ServerRequest, patience: Patience): void {
  const { stream } = raw
  stream.once('finish', () => {
    if (stream.readableEnded) return
    const end = () => close(raw, stream, constants.NGHTTP2_NO_ERROR)
    stream.once('close', patience.wait(end))
    roundTrip(stream, end)
  })
}

/** Gives up an HTTP/2 stream whose client does not take its refusal: nothing else would ever free what waits to be taken. */
export function expireAnswer(raw: Http2ServerRequest, patience: Patience): void {
  const { stream } = raw
  // Almost every answer is taken by then.
  setImmediate(() => {
    if (stream.destroyed || stream.writableFinished) return
    const stopWaiting = patience.wait(() => close(raw, stream, constants.NGHTTP2_CANCEL))
    stream.once('finish', stopWaiting).once('close', stopWaiting)
  })
}

/** How often the patience begins anew for a client that takes what is left of a response, however slowly. */
const RENEWALS = 6

/**
 * The same for a response that is at its end, of whatever size: on HTTP/2 its stream is given up, on HTTP/1.1 its connection,
 * when nothing is taken for as long as the patience lasts, or not all within seven times that.
 */
export function expireResponse(raw: RawRequest, response: FastifyReply['raw'], patience: Patience): void {
  const isHttp2 = 'stream' in raw
  const { socket } = raw
  const out = isHttp2 ? raw.stream : response
  // On HTTP/2 trailers may wait for the client too: only a stream that is closed has sent them.
  const last = isHttp2 ? 'close' : 'finish'
  // Of a stream of HTTP/2 it cannot be told, only of all of its connection.
  const taken = () => bytesTaken(socket)
  let renewals = RENEWALS
  let before = taken()
  let stopWaiting = () => {}
  const giveUp = () => {
    if (!patience.isClosing && renewals-- > 0 && taken() > before) return wait()
    if (isHttp2) close(raw, raw.stream, constants.NGHTTP2_CANCEL)
    else socket.destroy()
  }
  const wait = () => {
    before = taken()
    stopWaiting = patience.wait(giveUp)
  }
  const start = () => {
    if (out.destroyed || (!isHttp2 && out.writableFinished)) return
    wait()
    out.once(last, () => stopWaiting()).once('close', () => stopWaiting())
  }
  setImmediate(() => {
    // A response that stands behind others on its connection cannot be taken yet.
    if (isHttp2 || response.socket !== null) start()
    else response.once('socket', start)
  })
}

/** Bytes that the system has taken for the client. What Node counts as written may still wait for that. */
function bytesTaken(socket: Socket | undefined): number {
  const { _handle: handle } = (socket ?? {}) as { _handle?: { writeQueueSize?: number } | null }
  return (socket?.bytesWritten ?? 0) - (handle?.writeQueueSize ?? 0)
}

function close(raw: Http2ServerRequest, stream: ServerHttp2Stream, code: number): void {
  if (stream.destroyed) return
  // What has come must be read for the stream to be gone.
  flow(raw)
  stream.close(code)
}

/** Who waits for a session's ping: for the one that is under way, and for the one after it. */
interface Round {
  now: Set<() => void>
  next: Set<() => void>
}

const rounds = new WeakMap<Http2Session, Round>()

/**
 * Calls `then` when the client has read what was sent until now; never, if it cannot be asked, as on a session that closes,
 * or when the stream is closed before. All streams of a session share its pings, of which Node allows few at a time.
 */
function roundTrip(stream: ServerHttp2Stream, then: () => void): void {
  const { session } = stream
  if (session === undefined) return
  const known = rounds.get(session)
  const round: Round = known ?? { now: new Set(), next: new Set() }
  // The ping that is under way may have been sent before the answer.
  round.next.add(then)
  // Of a client that takes no notice of pings nothing may stay but its open streams.
  stream.once('close', () => round.now.delete(then) || round.next.delete(then))
  if (known !== undefined) return
  rounds.set(session, round)
  ping(session, round)
}

function ping(session: Http2Session, round: Round): void {
  if (session.destroyed || round.next.size === 0) return void rounds.delete(session)
  round.now = round.next
  round.next = new Set()
  session.ping((error) => {
    if (error !== null) return void rounds.delete(session)
    for (const then of round.now) then()
    ping(session, round)
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
  let isAnswered = false
  let isRead = false
  const end = () => {
    if (isAnswered && isRead) Socket.prototype.destroySoon.call(socket)
  }
  // What Node calls when the answer is written, and those before it on the connection.
  socket.destroySoon = () => {
    isAnswered = true
    end()
  }
  linger(raw, socket, maxBytes, patience).then(() => {
    isRead = true
    end()
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
    await linger(raw, socket, maxBytes, patience)
    if (!raw.complete) socket.destroySoon()
  })
}
