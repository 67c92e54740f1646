import type { ConnectError } from '@connectrpc/connect'
import { encodeEnvelope } from '@connectrpc/connect/protocol'
import {
  contentTypeStreamJson,
  contentTypeStreamProto,
  createEndStreamSerialization,
  endStreamFlag,
} from '@connectrpc/connect/protocol-connect'
import { mediaType } from './protocol.ts'
import type { WireRejection } from './wire-rejection.ts'

const endStream = createEndStreamSerialization(undefined)

/**
 * A Connect stream that ends at once: HTTP 200 and one end-of-stream message, since with another status clients drop
 * the details. https://connectrpc.com/docs/protocol#streaming-rpcs
 */
export function write(error: ConnectError, contentType: string | undefined): WireRejection {
  const type = mediaType(contentType) === contentTypeStreamProto ? contentTypeStreamProto : contentTypeStreamJson
  const body = encodeEnvelope(endStreamFlag, endStream.serialize({ metadata: new Headers(), error }))
  return { status: 200, headers: new Headers({ 'content-type': type }), body }
}
