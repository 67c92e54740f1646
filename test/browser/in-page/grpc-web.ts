import { create, type DescMethod, fromBinary, type MessageShape, toBinary } from '@bufbuild/protobuf'
import { GrpcWebClientBase, MethodDescriptor, type RpcError } from 'grpc-web'
import {
  BackendService,
  EnvelopeSchema,
  PublishRequestSchema,
  SubscribeStaticRequestSchema,
} from '../../../example-server/gen/example/v1/backend_pb.ts'
import { ErrorInfoSchema, RetryInfoSchema } from '../../../src/gen/google/rpc/error_details_pb.ts'
import { StatusSchema } from '../../../src/gen/google/rpc/status_pb.ts'

/** What the compiler of grpc-web would write for a method, with protobuf-es for its messages. */
function descriptorOf<Method extends DescMethod>(method: Method, type: 'unary' | 'server_streaming') {
  return new MethodDescriptor<MessageShape<Method['input']>, MessageShape<Method['output']>>(
    `/${method.parent.typeName}/${method.name}`,
    type,
    Object as never,
    Object as never,
    (message: MessageShape<Method['input']>) => toBinary(method.input, message),
    (bytes: Uint8Array) => fromBinary(method.output, bytes),
  )
}

const { publish: publishMethod, subscribeStatic } = BackendService.method
const publishDescriptor = descriptorOf(publishMethod, 'unary')
const subscribeDescriptor = descriptorOf(subscribeStatic, 'server_streaming')

/** What Google's client says of an error, with the details that stand in its metadata. */
function read(error: RpcError) {
  const { code, message, metadata } = error
  if (metadata === undefined) throw error
  const base64 = metadata['grpc-status-details-bin'] ?? ''
  const status = fromBinary(
    StatusSchema,
    Uint8Array.from(atob(base64.replace(/[^\w+/]/g, '')), (c) => c.charCodeAt(0)),
  )
  const details = status.details.map(({ typeUrl, value }) => {
    const type = typeUrl.slice(typeUrl.indexOf('/') + 1)
    if (type === ErrorInfoSchema.typeName) {
      const { reason, domain, metadata } = fromBinary(ErrorInfoSchema, value)
      return { type, reason, domain, metadata }
    }
    const { seconds = 0n, nanos = 0 } = fromBinary(RetryInfoSchema, value).retryDelay ?? {}
    return { type, retryDelayMs: Number(seconds) * 1000 + nanos / 1e6 }
  })
  return { code, message, details, status: { code: status.code, message: status.message } }
}

/** `format`: `binary` sends application/grpc-web+proto, `text` application/grpc-web-text. */
export async function publish(format: string, baseUrl: string) {
  const envelope = create(EnvelopeSchema, {
    topic: 'greetings',
    payload: { case: 'applicationMessage', value: new Uint8Array([1]) },
  })
  const request = create(PublishRequestSchema, { envelopes: [envelope] })
  const url = `${baseUrl}${publishDescriptor.getName()}`
  try {
    const { sequenceIds } = await new GrpcWebClientBase({ format }).unaryCall(url, request, {}, publishDescriptor)
    return { stored: sequenceIds.length }
  } catch (error) {
    return read(error as RpcError)
  }
}

export function subscribe(format: string, baseUrl: string) {
  const request = create(SubscribeStaticRequestSchema, { topics: [{ topic: 'greetings' }] })
  const url = `${baseUrl}${subscribeDescriptor.getName()}`
  const events: (string | undefined)[] = []
  return new Promise((resolve) => {
    new GrpcWebClientBase({ format })
      .serverStreaming(url, request, {}, subscribeDescriptor)
      .on('data', ({ event }) => events.push(event.case))
      .on('error', (error) => resolve({ events, ...read(error) }))
      .on('end', () => resolve({ events }))
  })
}
