import type { IncomingMessage } from 'node:http'
import type { Http2ServerRequest } from 'node:http2'
import type { Patience } from './patience.ts'

export type RawRequest = IncomingMessage | Http2ServerRequest

/**
 * Reads a request's body and throws it away, undecoded. Resolves to whether it ended: false when it is longer than
 * `maxBytes` (at once, without reading, when it says so), when the patience ends, or when the client left.
 */
export async function discardBody(raw: RawRequest, maxBytes: number, patience: Patience): Promise<boolean> {
  if (bodyHasEnded(raw)) return true
  if (raw.destroyed || Number(raw.headers['content-length'] ?? 0) > maxBytes) return false
  return drain(raw, maxBytes, patience, (finish) => finish())
}

/**
 * Goes on reading and throwing away up to `maxBytes` after the answer, and then waits without reading: until the body
 * ends, the client leaves or the patience ends.
 */
export async function linger(raw: RawRequest, maxBytes: number, patience: Patience): Promise<void> {
  if (!bodyHasEnded(raw) && !raw.destroyed) await drain(raw, maxBytes, patience, () => raw.pause())
}

function drain(
  raw: RawRequest,
  maxBytes: number,
  patience: Patience,
  whenFull: (finish: () => void) => void,
): Promise<boolean> {
  return new Promise((resolve) => {
    let left = maxBytes
    const onData = (chunk: Buffer) => {
      left -= chunk.length
      if (left < 0) whenFull(finish)
    }
    const finish = () => {
      stopWaiting()
      raw.off('data', onData).off('end', finish).off('close', finish).off('aborted', finish).off('error', finish)
      // Whatever still comes is nobody's to read; without a listener an error would be thrown.
      raw.on('error', () => {})
      raw.pause()
      resolve(raw.readableEnded)
    }
    const stopWaiting = patience.wait(finish)
    raw.on('data', onData).on('end', finish).on('close', finish).on('aborted', finish).on('error', finish)
  })
}

/** Whether all of the body has been read, or the request's headers say that there is none. */
export function bodyHasEnded(raw: RawRequest): boolean {
  if (raw.readableEnded) return true
  if ('stream' in raw) return raw.stream?.endAfterHeaders ?? true
  return raw.headers['transfer-encoding'] === undefined && Number(raw.headers['content-length'] ?? 0) === 0
}
