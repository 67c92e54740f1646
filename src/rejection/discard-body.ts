import type { EventEmitter } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { Http2ServerRequest } from 'node:http2'
import { Socket } from 'node:net'
import type { Patience } from './patience.ts'

export type RawRequest = IncomingMessage | Http2ServerRequest

/**
 * Reads a request's body and throws it away, undecoded. Resolves to whether it ended: false when it is longer than
 * `maxBytes` (at once, without reading, when it says so), when the patience ends, or when the client left.
 */
export async function discardBody(raw: RawRequest, maxBytes: number, patience: Patience): Promise<boolean> {
  if (bodyHasEnded(raw)) return true
  if (raw.destroyed || Number(raw.headers['content-length'] ?? 0) > maxBytes) return false
  return drain(
    raw,
    raw,
    maxBytes,
    (finish) => patience.wait(finish, 'now'),
    (finish) => finish(),
  )
}

/**
 * Goes on reading and throwing away up to `maxBytes` after the answer, and then waits without reading: until the body
 * ends, the client closes its HTTP/1.1 connection or the patience ends.
 */
export async function linger(
  raw: IncomingMessage,
  socket: Socket,
  maxBytes: number,
  patience: Patience,
): Promise<void> {
  // A request that is answered hears nothing of its connection, and one whose body was given up does not even know it.
  if (!bodyHasEnded(raw) && !socket.destroyed)
    await drain(
      raw,
      socket,
      maxBytes,
      (finish) => patience.wait(finish),
      () => raw.pause(),
    )
}

function drain(
  raw: RawRequest,
  closing: EventEmitter,
  maxBytes: number,
  wait: (finish: () => void) => () => void,
  whenFull: (finish: () => void) => void,
): Promise<boolean> {
  return new Promise((resolve) => {
    let left = maxBytes
    // One that listens once has gone when it is this one's turn.
    const mayFree = isCopied(raw) && isUntouched(raw)
    const isOnlyReader = () => {
      const [reader, another] = raw.listeners('data')
      // A tool that watches what is read may have put a listener of its own around this one.
      return reader === onData && another === undefined
    }
    const onData = (chunk: Buffer) => {
      left -= chunk.length
      if (mayFree && isOnlyReader()) free(chunk)
      if (left < 0) whenFull(finish)
    }
    const finish = () => {
      stopWaiting()
      closing.off('close', finish)
      if (raw.readableEnded) return resolve(true)
      raw.off('data', onData).off('end', finish).off('aborted', finish).off('error', finish)
      // Whatever still comes is nobody's to read; without a listener an error would be thrown.
      raw.on('error', () => {})
      raw.pause()
      resolve(false)
    }
    const stopWaiting = wait(finish)
    closing.on('close', finish)
    raw.on('data', onData).on('end', finish).on('aborted', finish).on('error', finish)
    flow(raw)
  })
}

/**
 * Whether each chunk is a copy that Node made: on HTTP/2 several share what was read at a time, in `inject`, or in a request
 * that an adapter has made, it may be somebody's own.
 */
function isCopied(raw: RawRequest): boolean {
  return !('stream' in raw) && raw.socket instanceof Socket && raw.socket.bytesRead > 0
}

/** Whether nobody has read of a body, or made ready to see what is read of it, and might keep that. */
function isUntouched(raw: RawRequest): boolean {
  const { readableFlowing, readableDidRead } = raw
  const watched = ['emit', 'on', 'push', 'read'].some((name) => Object.hasOwn(raw, name))
  return readableFlowing === null && !readableDidRead && !watched && raw.listenerCount('data') === 0
}

/**
 * Gives the memory of a chunk back at once. Left to the garbage collector, bodies of 64 KiB make it look through all of the
 * heap every few hundred requests, and stop whatever else the server does.
 */
function free({ buffer, length }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === length) buffer.transfer(0)
}

/** Lets what comes be lost, unless somebody listens to it as data. */
export function flow(raw: RawRequest): void {
  // A handler that waited for more, or a hook that piped it, would hold it up.
  raw.unpipe()
  raw.removeAllListeners('readable').resume()
}

/** Whether all of the body has been read, or the request's headers say that there is none. */
export function bodyHasEnded(raw: RawRequest): boolean {
  if (raw.readableEnded) return true
  if ('stream' in raw) return raw.stream?.endAfterHeaders ?? true
  return raw.headers['transfer-encoding'] === undefined && Number(raw.headers['content-length'] ?? 0) === 0
}
