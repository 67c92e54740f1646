import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { create, toBinary } from '@bufbuild/protobuf'
import { MatrixRequestSchema, MatrixService } from '../../test/gen/test/v1/matrix_pb.ts'

/** A request as a load generator sends it. */
export interface Request {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly bodyFile: string
}

/** A protocol and a kind of method. */
export interface Spoken {
  readonly name: string
  readonly rpc: 'Undeclared' | 'ServerStream'
  readonly contentType: string
  readonly enveloped: boolean
  readonly overHttp1: boolean
}

export const unaryConnect: Spoken = {
  name: 'Connect unary',
  rpc: 'Undeclared',
  contentType: 'application/proto',
  enveloped: false,
  overHttp1: true,
}

export const spoken: readonly Spoken[] = [
  unaryConnect,
  {
    name: 'Connect stream',
    rpc: 'ServerStream',
    contentType: 'application/connect+proto',
    enveloped: true,
    overHttp1: true,
  },
  {
    name: 'gRPC-Web',
    rpc: 'Undeclared',
    contentType: 'application/grpc-web+proto',
    enveloped: true,
    overHttp1: true,
  },
  { name: 'gRPC', rpc: 'Undeclared', contentType: 'application/grpc+proto', enveloped: true, overHttp1: false },
]

/** Writes the body of a request into a folder. @param bytes Of what is in its message. */
export function requestOf({ rpc, contentType, enveloped }: Spoken, bytes: number, folder: string): Request {
  const message = toBinary(MatrixRequestSchema, create(MatrixRequestSchema, { padding: new Uint8Array(bytes).fill(1) }))
  const envelope = Buffer.alloc(enveloped ? 5 : 0)
  if (enveloped) envelope.writeUInt32BE(message.length, 1)
  const bodyFile = join(folder, `${enveloped ? 'enveloped' : 'plain'}-${bytes}`)
  writeFileSync(bodyFile, Buffer.concat([envelope, message]))
  const headers = { 'content-type': contentType, te: 'trailers', 'connect-protocol-version': '1' }
  return { path: `/${MatrixService.typeName}/${rpc}`, headers, bodyFile }
}
