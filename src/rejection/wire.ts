import type { ConnectError } from '@connectrpc/connect'
import * as connectStream from './connect-stream.ts'
import * as connectUnary from './connect-unary.ts'
import type { EncodedDenial } from './encoded-denial.ts'
import * as grpc from './grpc.ts'
import * as grpcWeb from './grpc-web.ts'
import { type Protocol, protocolOf } from './protocol.ts'
import { sendable } from './sendable.ts'
import type { Fields, WireRejection } from './wire-rejection.ts'

const writers = {
  'connect-unary': connectUnary,
  'connect-stream': connectStream,
  grpc,
  'grpc-web': grpcWeb,
  'grpc-web-text': { write: grpcWeb.writeText, writeDenial: grpcWeb.writeDenialText },
} satisfies Record<Protocol, unknown>

/** Writes an error in the protocol of the request with this content type. */
export function writeRejection(thrown: ConnectError, contentType: string | undefined): WireRejection {
  return writers[protocolOf(contentType)].write(sendable(thrown), contentType)
}

/** Writes a denial as `writeRejection` writes the error that tells of it, in less time. */
export function writeDenial(denial: EncodedDenial, contentType: string | undefined): WireRejection<Fields> {
  return writers[protocolOf(contentType)].writeDenial(denial, contentType)
}
