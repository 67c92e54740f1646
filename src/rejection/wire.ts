import type { ConnectError } from '@connectrpc/connect'
import * as connectStream from './connect-stream.ts'
import * as connectUnary from './connect-unary.ts'
import type { EncodedDenial } from './encoded-denial.ts'
import * as grpc from './grpc.ts'
import * as grpcWeb from './grpc-web.ts'
import { protocolOf } from './protocol.ts'
import { sendable } from './sendable.ts'
import type { Fields, WireRejection } from './wire-rejection.ts'

/** Writes an error in the protocol of the request with this content type. */
export function writeRejection(thrown: ConnectError, contentType: string | undefined): WireRejection {
  const error = sendable(thrown)
  switch (protocolOf(contentType)) {
    case 'connect-unary':
      return connectUnary.write(error)
    case 'connect-stream':
      return connectStream.write(error, contentType)
    case 'grpc':
      return grpc.write(error, contentType)
    case 'grpc-web':
      return grpcWeb.write(error, contentType)
    case 'grpc-web-text':
      return grpcWeb.writeText(error, contentType)
  }
}

/** Writes a denial as `writeRejection` writes the error that tells of it, in less time. */
export function writeDenial(denial: EncodedDenial, contentType: string | undefined): WireRejection<Fields> {
  switch (protocolOf(contentType)) {
    case 'connect-unary':
      return connectUnary.writeDenial(denial)
    case 'connect-stream':
      return connectStream.writeDenial(denial, contentType)
    case 'grpc':
      return grpc.writeDenial(denial, contentType)
    case 'grpc-web':
      return grpcWeb.writeDenial(denial, contentType)
    case 'grpc-web-text':
      return grpcWeb.writeDenialText(denial, contentType)
  }
}
