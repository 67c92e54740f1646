import type { IncomingMessage } from 'node:http'
import type { Http2ServerRequest } from 'node:http2'
import type { Clock } from '../clock/clock.ts'

export type RawRequest = IncomingMessage | Http2ServerRequest

/** How much of a refused request's body is read and thrown away, and for how long. */
export interface DiscardLimits {
  /** Bytes. */
  readonly maxBytes: number
  readonly timeoutMs: number
}

/**
 * Reads a request's body and throws it away, undecoded. Resolves to whether it ended: false when it is longer than
 * `maxBytes` (at once, without reading, when it says so), when it takes longer than `timeoutMs`, or when the client
 * left.
 */
export function discardBody(raw: RawRequest, limits: DiscardLimits, clock: Clock): Promise<boolean> {
  if (raw.readableEnded || hasNoBody(raw)) return Promise.resolve(true)
  if (raw.destroyed || Number(raw.headers['content-length'] ?? 0) > limits.maxBytes) return Promise.resolve(false)

  return new Promise((resolve) => {
    let left = limits.maxBytes
    const onData = (chunk: Buffer) => {
      left -= chunk.length
      if (left < 0) finish(false)
    }
    const onEnd = () => finish(true)
    const onGone = () => finish(raw.readableEnded)
    const cancel = clock.schedule(clock.now() + BigInt(limits.timeoutMs) * 1_000_000n, onGone)
    const finish = (ended: boolean) => {
      cancel()
      raw.off('data', onData).off('end', onEnd).off('close', onGone).off('aborted', onGone).off('error', onGone)
      // Whatever still comes is nobody's to read; without a listener an error would be thrown.
      raw.on('error', () => {})
      raw.pause()
      resolve(ended)
    }
    raw.on('data', onData).on('end', onEnd).on('close', onGone).on('aborted', onGone).on('error', onGone)
  })
}

/** Whether the request's headers say that there is no body. */
function hasNoBody(raw: RawRequest): boolean {
  if ('stream' in raw) return raw.stream?.endAfterHeaders ?? true
  return raw.headers['transfer-encoding'] === undefined && Number(raw.headers['content-length'] ?? 0) === 0
}
