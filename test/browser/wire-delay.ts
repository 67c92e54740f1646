import { fromBinary } from '@bufbuild/protobuf'
import { RetryInfoSchema } from '../../src/gen/google/rpc/error_details_pb.ts'
import { StatusSchema } from '../../src/gen/google/rpc/status_pb.ts'
import { envelopesOf, trailersIn } from '../support/wire.ts'

/** The milliseconds of the RetryInfo in a rejection, read from the bytes: JSON of Connect, or trailers of gRPC-Web. */
export function delayIn(body: Buffer): number {
  for (const value of body[0] === 0x7b ? connectDetails(body) : grpcDetails(body)) {
    if (value.type.endsWith(RetryInfoSchema.typeName)) {
      const { seconds, nanos } = fromBinary(RetryInfoSchema, value.value).retryDelay!
      return Number(seconds) * 1000 + nanos / 1e6
    }
  }
  throw new Error(`no RetryInfo in ${body.toString('latin1')}`)
}

function connectDetails(body: Buffer) {
  const { details } = JSON.parse(body.toString()) as { details: { type: string; value: string }[] }
  return details.map(({ type, value }) => ({ type, value: Buffer.from(value, 'base64') }))
}

function grpcDetails(body: Buffer) {
  const trailers = trailersIn(envelopesOf(body).at(-1)!.data)
  const { details } = fromBinary(StatusSchema, Buffer.from(trailers['grpc-status-details-bin']!, 'base64'))
  return details.map(({ typeUrl, value }) => ({ type: typeUrl, value }))
}
