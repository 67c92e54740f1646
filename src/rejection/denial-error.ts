import { create } from '@bufbuild/protobuf'
import { durationFromMs } from '@bufbuild/protobuf/wkt'
import { Code, ConnectError } from '@connectrpc/connect'
import { ErrorInfoSchema, RetryInfoSchema } from '../gen/google/rpc/error_details_pb.ts'
import { REASON } from './reason.ts'
import { retryAfterSeconds } from './retry-after.ts'

/** What a rejection says of a denial. Nothing that names the caller. */
export interface Rejected {
  readonly category: string
  /** null: no RetryInfo and no Retry-After. */
  readonly retryDelayMs: number | null
}

/**
 * The one error that every rejection is made of (RATE-040): `resource_exhausted` with the details google.rpc.ErrorInfo
 * and google.rpc.RetryInfo, and `Retry-After` in whole seconds, rounded up, as its metadata.
 */
export function denialError({ category, retryDelayMs }: Rejected, domain: string): ConnectError {
  const message = denialMessage({ category, retryDelayMs })
  const info = {
    desc: ErrorInfoSchema,
    value: create(ErrorInfoSchema, { reason: REASON, domain, metadata: { category } }),
  }
  if (retryDelayMs === null) return new ConnectError(message, Code.ResourceExhausted, undefined, [info])
  const retryInfo = {
    desc: RetryInfoSchema,
    value: create(RetryInfoSchema, { retryDelay: durationFromMs(retryDelayMs) }),
  }
  const metadata = { 'retry-after': String(retryAfterSeconds(retryDelayMs)) }
  return new ConnectError(message, Code.ResourceExhausted, metadata, [info, retryInfo])
}

/** What a rejection says of a denial to people. */
export function denialMessage({ category, retryDelayMs }: Rejected): string {
  // No comma, colon or other sign that URIs reserve: in grpc-message it is escaped, and grpc-js leaves it so.
  const message = `rate limit of category ${category} exceeded`
  return retryDelayMs === null ? message : `${message} (retry in ${retryDelayMs} ms)`
}
