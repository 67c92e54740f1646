import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { ErrorInfoSchema, RetryInfoSchema } from '../../src/gen/google/rpc/error_details_pb.ts'
import { StatusSchema } from '../../src/gen/google/rpc/status_pb.ts'
import { domain } from './matrix-app.ts'

/** An error as a client sees it, whichever client. */
export interface SeenError {
  readonly code: string
  readonly message: string
  readonly details: readonly unknown[]
  readonly retryAfter: string | undefined
}

/** An error detail as it travels. */
export interface WireDetail {
  /** With or without the prefix `type.googleapis.com/`. */
  readonly type: string
  readonly value: Uint8Array
}

/** What every client must see of a denial. */
export const rejectionOf = (category: string, retryDelayMs: number): SeenError => ({
  code: 'resource_exhausted',
  message: `rate limit of category ${category} exceeded (retry in ${retryDelayMs} ms)`,
  details: [
    { type: 'google.rpc.ErrorInfo', reason: 'RATE_LIMITED', domain, metadata: { category } },
    { type: 'google.rpc.RetryInfo', retryDelayMs },
  ],
  retryAfter: String(Math.ceil(retryDelayMs / 1000)),
})

export const codeName = (code: number): string =>
  Code[code]!.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`).slice(1)

export const readDetail = ({ type, value }: WireDetail): unknown => {
  const name = type.replace('type.googleapis.com/', '')
  if (name === ErrorInfoSchema.typeName) {
    const { reason, domain, metadata } = fromBinary(ErrorInfoSchema, value)
    return { type: name, reason, domain, metadata }
  }
  if (name === RetryInfoSchema.typeName) {
    const { seconds, nanos } = fromBinary(RetryInfoSchema, value).retryDelay!
    return { type: name, retryDelayMs: Number(seconds) * 1000 + nanos / 1_000_000 }
  }
  return { type: name }
}

/** A detail of an error that has not been sent. */
const asSent = ({ desc, value }: Extract<ConnectError['details'][number], { desc: unknown }>): WireDetail => ({
  type: desc.typeName,
  value: toBinary(desc, create(desc, value)),
})

/** What a Connect client threw, or a server is about to throw. */
export const ofConnectError = (thrown: unknown): SeenError => {
  if (!(thrown instanceof ConnectError)) throw thrown
  return {
    code: codeName(thrown.code),
    message: thrown.rawMessage,
    details: thrown.details.map((detail) => readDetail('desc' in detail ? asSent(detail) : detail)),
    retryAfter: thrown.metadata.get('retry-after') ?? undefined,
  }
}

/** What the body of a Connect unary error says, or the `error` of an end-of-stream message. */
export const ofConnectJson = (body: unknown, retryAfter: unknown): SeenError => {
  const {
    code,
    message,
    details = [],
  } = body as {
    code: string
    message: string
    details?: { type: string; value: string }[]
  }
  return {
    code,
    message,
    details: details.map(({ type, value }) => readDetail({ type, value: Buffer.from(value, 'base64') })),
    retryAfter: textOf(retryAfter),
  }
}

/** What the trailers of gRPC or gRPC-Web say. Reads `grpc-status-details-bin` too, which must say the same. */
export const ofGrpcTrailers = (trailers: Readonly<Record<string, unknown>>): SeenError => {
  const status = statusOf(trailers)
  const message = decodeURIComponent(String(trailers['grpc-message']))
  if (status !== undefined && (status.code !== Number(trailers['grpc-status']) || status.message !== message)) {
    throw new Error(`grpc-status-details-bin says ${status.code} ${status.message}, but grpc-message says ${message}`)
  }
  return {
    code: codeName(Number(trailers['grpc-status'])),
    message,
    details: (status?.details ?? []).map(({ typeUrl, value }) => readDetail({ type: typeUrl, value })),
    retryAfter: textOf(trailers['retry-after']),
  }
}

/** The message google.rpc.Status of `grpc-status-details-bin`. */
export const statusOf = (trailers: Readonly<Record<string, unknown>>) => {
  const details = trailers['grpc-status-details-bin']
  return details === undefined ? undefined : fromBinary(StatusSchema, Buffer.from(String(details), 'base64'))
}

const textOf = (value: unknown): string | undefined =>
  value === undefined || value === null ? undefined : String(value)
