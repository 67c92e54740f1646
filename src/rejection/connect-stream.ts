import type { ConnectError } from '@connectrpc/connect'
import { encodeEnvelope } from '@connectrpc/connect/protocol'
import {
  contentTypeStreamJson,
  contentTypeStreamProto,
  createEndStreamSerialization,
  endStreamFlag,
} from '@connectrpc/connect/protocol-connect'
import { type EncodedDenial, envelope } from './encoded-denial.ts'
import { mediaType } from './protocol.ts'
import type { Fields, WireRejection } from './wire-rejection.ts'

const endStream = createEndStreamSerialization(undefined)

/**
 * A Connect stream that ends at once: HTTP 200 and one end-of-stream message, since with another status clients drop
 * the details. https://connectrpc.com/docs/protocol#streaming-rpcs
 */
export function write(error: ConnectError, contentType: string | undefined): WireRejection {
  const body = encodeEnvelope(endStreamFlag, endStream.serialize({ metadata: new Headers(), error }))
  return { status: 200, headers: new Headers({ 'content-type': typeFor(contentType) }), body }
}

export function writeDenial(denial: EncodedDenial, contentType: string | undefined): WireRejection<Fields> {
  const metadata = denial.metadata.map(([name, value]) => `,"metadata":{"${name}":["${value}"]}`)
  const end = `{"error":${denial.json()}${metadata.join('')}}`
  return { status: 200, headers: [['content-type', typeFor(contentType)]], body: envelope(endStreamFlag, end) }
}

function typeFor(contentType: string | undefined): string {
  return mediaType(contentType) === contentTypeStreamProto ? contentTypeStreamProto : contentTypeStreamJson
}
