import { Code, ConnectError } from '@connectrpc/connect'
import { ErrorInfoSchema, RetryInfoSchema } from '../gen/google/rpc/error_details_pb.ts'
import { REASON } from '../rejection/reason.ts'

/** What a rate-limit rejection says. */
export interface Rejection {
  /** Who says it: the `domain` of the ErrorInfo. */
  readonly domain: string
  /** The category that was denied. Empty when the rejection names none. */
  readonly category: string
  /**
   * Milliseconds after which the same call can be admitted, counted from when the error arrived; rounded up to a whole
   * number. 0: no minimum wait, since the rejection says zero or less. undefined: it does not say when.
   */
  readonly retryDelayMs: number | undefined
}

/**
 * Reads an error as a rate-limit rejection (RATE-040, RATE-041): a ConnectError, of any code, with a detail
 * google.rpc.ErrorInfo whose reason is `RATE_LIMITED`. Details may be in any order, and one that cannot be decoded counts
 * as absent; of several RetryInfo the longest delay counts.
 *
 * @param domain Whose rejections. Default: anybody's.
 * @returns undefined when it is none.
 */
export function rejectionOf(error: unknown, domain?: string): Rejection | undefined {
  if (!(error instanceof ConnectError)) return undefined
  const info = error
    .findDetails(ErrorInfoSchema)
    .find((detail) => detail.reason === REASON && (domain === undefined || detail.domain === domain))
  if (info === undefined) return undefined

  let retryDelayMs: number | undefined
  for (const { retryDelay } of error.findDetails(RetryInfoSchema)) {
    if (retryDelay === undefined) continue
    const ms = Number(retryDelay.seconds) * 1000 + Math.ceil(retryDelay.nanos / 1e6)
    retryDelayMs = Math.max(retryDelayMs ?? 0, ms)
  }
  return { domain: info.domain, category: info.metadata.category ?? '', retryDelayMs }
}

/**
 * The retry delay of a rate-limit rejection, to show or to wait for: milliseconds, rounded up, from when the error
 * arrived. 0 when the delay is zero or negative. undefined for every other error, RetryInfo or not, and for a rejection
 * that does not say when.
 *
 * @param domain Whose rejections. Default: anybody's.
 */
export function retryDelayOf(error: unknown, domain?: string): number | undefined {
  return rejectionOf(error, domain)?.retryDelayMs
}

/** The longest google.protobuf.Duration. */
const MAX_DURATION_MS = 315_576_000_000_000

/** The rejection of a call that was not sent, because the delay of another one's rejection still runs for `leftMs`. */
export function heldBackError({ domain, category }: Rejection, leftMs: number): ConnectError {
  const ms = Math.min(Math.ceil(leftMs), MAX_DURATION_MS)
  const retryDelay = { seconds: BigInt(Math.floor(ms / 1000)), nanos: (ms % 1000) * 1_000_000 }
  return new ConnectError(
    `held back and not sent, for the rate limit of category ${category} (retry in ${ms} ms)`,
    Code.ResourceExhausted,
    undefined,
    [
      { desc: ErrorInfoSchema, value: { reason: REASON, domain, metadata: { category } } },
      { desc: RetryInfoSchema, value: { retryDelay } },
    ],
  )
}
