import type { ConnectError } from '@connectrpc/connect'
import { contentTypeJson, contentTypeProto, setTrailerStatus } from '@connectrpc/connect/protocol-grpc'
import { mediaType } from './protocol.ts'
import type { WireRejection } from './wire-rejection.ts'

/**
 * A gRPC response that is trailers only: the status in the headers, which must end the response.
 * https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md#responses
 */
export function write(error: ConnectError, contentType: string | undefined): WireRejection {
  const type = mediaType(contentType)
  const known = type === contentTypeProto || type === contentTypeJson
  const headers = new Headers({ 'content-type': known ? type : 'application/grpc' })
  return { status: 200, headers: setTrailerStatus(headers, error) }
}
