import type { ConnectError } from '@connectrpc/connect'
import { contentTypeJson, contentTypeProto, setTrailerStatus } from '@connectrpc/connect/protocol-grpc'
import { type EncodedDenial, statusFields } from './encoded-denial.ts'
import { mediaType } from './protocol.ts'
import type { Fields, WireRejection } from './wire-rejection.ts'

/**
 * A gRPC response that is trailers only: the status in the headers, which must end the response.
 * https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md#responses
 */
export function write(error: ConnectError, contentType: string | undefined): WireRejection {
  const headers = new Headers({ 'content-type': typeFor(contentType) })
  return { status: 200, headers: setTrailerStatus(headers, error) }
}

export function writeDenial(denial: EncodedDenial, contentType: string | undefined): WireRejection<Fields> {
  return { status: 200, headers: [['content-type', typeFor(contentType)], ...statusFields(denial)] }
}

function typeFor(contentType: string | undefined): string {
  const type = mediaType(contentType)
  return type === contentTypeProto || type === contentTypeJson ? type : 'application/grpc'
}
