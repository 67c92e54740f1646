import type { ConnectError } from '@connectrpc/connect'
import { encodeEnvelope } from '@connectrpc/connect/protocol'
import {
  contentTypeJson,
  contentTypeProto,
  setTrailerStatus,
  trailerFlag,
  trailerSerialize,
} from '@connectrpc/connect/protocol-grpc-web'
import { type EncodedDenial, envelope, statusFields } from './encoded-denial.ts'
import { mediaType } from './protocol.ts'
import type { Fields, WireRejection } from './wire-rejection.ts'

/**
 * A gRPC-Web response of one trailer frame in the body, where a browser reads the status without CORS exposing any
 * header. https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-WEB.md
 */
export function write(error: ConnectError, contentType: string | undefined): WireRejection {
  return { status: 200, headers: new Headers({ 'content-type': typeFor(contentType) }), body: trailerFrame(error) }
}

/** The same in base64, for clients in the text mode of gRPC-Web. */
export function writeText(error: ConnectError, contentType: string | undefined): WireRejection {
  const headers = new Headers({ 'content-type': textTypeFor(contentType) })
  return { status: 200, headers, body: Buffer.from(trailerFrame(error)).toString('base64') }
}

export function writeDenial(denial: EncodedDenial, contentType: string | undefined): WireRejection<Fields> {
  return { status: 200, headers: [['content-type', typeFor(contentType)]], body: denialFrame(denial) }
}

export function writeDenialText(denial: EncodedDenial, contentType: string | undefined): WireRejection<Fields> {
  return { status: 200, headers: [['content-type', textTypeFor(contentType)]], body: btoa(denialFrame(denial)) }
}

function typeFor(contentType: string | undefined): string {
  const type = mediaType(contentType)
  return type === contentTypeProto || type === contentTypeJson ? type : 'application/grpc-web'
}

function textTypeFor(contentType: string | undefined): string {
  const type = mediaType(contentType)
  return type === 'application/grpc-web-text+proto' ? type : 'application/grpc-web-text'
}

function trailerFrame(error: ConnectError): Uint8Array {
  return encodeEnvelope(trailerFlag, trailerSerialize(setTrailerStatus(new Headers(), error)))
}

function denialFrame(denial: EncodedDenial): string {
  const lines = statusFields(denial).map(([name, value]) => `${name}: ${value}\r\n`)
  return envelope(trailerFlag, lines.join(''))
}
