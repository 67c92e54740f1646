import type { ConnectError } from '@connectrpc/connect'
import { encodeEnvelope } from '@connectrpc/connect/protocol'
import {
  contentTypeJson,
  contentTypeProto,
  setTrailerStatus,
  trailerFlag,
  trailerSerialize,
} from '@connectrpc/connect/protocol-grpc-web'
import { mediaType } from './protocol.ts'
import type { WireRejection } from './wire-rejection.ts'

/**
 * A gRPC-Web response of one trailer frame in the body, where a browser reads the status without CORS exposing any
 * header. https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-WEB.md
 */
export function write(error: ConnectError, contentType: string | undefined): WireRejection {
  const type = mediaType(contentType)
  const known = type === contentTypeProto || type === contentTypeJson
  const headers = new Headers({ 'content-type': known ? type : 'application/grpc-web' })
  return { status: 200, headers, body: trailerFrame(error) }
}

/** The same in base64, for clients in the text mode of gRPC-Web. */
export function writeText(error: ConnectError, contentType: string | undefined): WireRejection {
  const type = mediaType(contentType)
  const headers = new Headers({
    'content-type': type === 'application/grpc-web-text+proto' ? type : 'application/grpc-web-text',
  })
  return { status: 200, headers, body: Buffer.from(trailerFrame(error)).toString('base64') }
}

function trailerFrame(error: ConnectError): Uint8Array {
  return encodeEnvelope(trailerFlag, trailerSerialize(setTrailerStatus(new Headers(), error)))
}
