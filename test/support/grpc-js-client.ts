import { join } from 'node:path'
import { fromBinary } from '@bufbuild/protobuf'
import { type Client, credentials, loadPackageDefinition, Metadata, type ServiceError } from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import { StatusSchema } from '../../src/gen/google/rpc/status_pb.ts'
import type { Kind, MatrixClient, Outcome } from './matrix-clients.ts'
import { codeName, readDetail, type SeenError } from './rejection.ts'

const root = join(import.meta.dirname, '../..')

type Reply = { text: string }
type Callback = (error: ServiceError | null, reply?: Reply) => void
type Call = {
  on(event: 'data', listener: (reply: Reply) => void): Call
  on(event: 'end', listener: () => void): Call
  on(event: 'error', listener: (error: ServiceError) => void): Call
  write(message: object): boolean
  end(): void
}

/** The methods that grpc-js makes from matrix.proto, as far as tests call them. */
export interface GrpcJsStub extends Client {
  Unary(message: object, metadata: Metadata, done: Callback): Call
  ServerStream(message: object, metadata: Metadata): Call
  ClientStream(metadata: Metadata, done: Callback): Call
  Bidi(metadata: Metadata): Call
}

/** A client that grpc-js makes from the .proto: a stranger's, which shares no code with ours. */
export const grpcJsStub = (baseUrl: string): GrpcJsStub => {
  const definition = loadSync('test/v1/matrix.proto', { includeDirs: [join(root, 'test/proto'), join(root, 'proto')] })
  const { test } = loadPackageDefinition(definition) as unknown as {
    test: { v1: { MatrixService: new (address: string, creds: unknown) => GrpcJsStub } }
  }
  return new test.v1.MatrixService(new URL(baseUrl).host, credentials.createInsecure())
}

/** What a client of grpc-js was given as an error. */
export const ofServiceError = ({ code, details, metadata }: ServiceError): SeenError => {
  const [bin] = metadata.get('grpc-status-details-bin')
  const status = bin === undefined ? undefined : fromBinary(StatusSchema, bin as Buffer)
  return {
    code: codeName(code),
    message: details,
    details: (status?.details ?? []).map(({ typeUrl, value }) => readDetail({ type: typeUrl, value })),
    retryAfter: metadata.get('retry-after')[0]?.toString(),
  }
}

export const metadataOf = (headers: Record<string, string>): Metadata => {
  const metadata = new Metadata()
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value)
  return metadata
}

export const grpcJsClient = (baseUrl: string): MatrixClient => {
  const stub = grpcJsStub(baseUrl)
  return {
    name: 'grpc-js gRPC, binary',
    kinds: ['Unary', 'ServerStream', 'ClientStream', 'Bidi'],
    call: (kind, headers) => callStub(stub, kind, metadataOf(headers)),
    close: () => stub.close(),
  }
}

const callStub = (stub: GrpcJsStub, kind: Kind, metadata: Metadata): Promise<Outcome> =>
  new Promise((resolve) => {
    const received: string[] = []
    const fail = (error: ServiceError) => resolve({ received, error: ofServiceError(error) })
    const done: Callback = (error, reply) => {
      if (error !== null) return fail(error)
      resolve({ received: [reply!.text], error: undefined })
    }
    const read = (call: Call) =>
      call
        .on('data', ({ text }) => received.push(text))
        .on('end', () => resolve({ received, error: undefined }))
        .on('error', fail)
    const writeTwo = (call: Call) => {
      call.write({ items: [] })
      call.write({ items: ['one'] })
      call.end()
    }
    switch (kind) {
      case 'Unary':
        stub.Unary({ items: ['one'] }, metadata, done)
        break
      case 'ServerStream':
        read(stub.ServerStream({ items: ['one'] }, metadata))
        break
      case 'ClientStream':
        writeTwo(stub.ClientStream(metadata, done))
        break
      case 'Bidi':
        writeTwo(read(stub.Bidi(metadata)))
    }
  })
