import { Code, ConnectError, createClient, type Transport } from '@connectrpc/connect'
import { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-web'
import { BackendService } from '../../../example-server/gen/example/v1/backend_pb.ts'
import { rateLimitInterceptor, rejectionOf, retryDelayOf } from '../../../src/client/index.ts'
import { ErrorInfoSchema, RetryInfoSchema } from '../../../src/gen/google/rpc/error_details_pb.ts'

const DOMAIN = 'xmtp.org'

const transports: Record<string, (baseUrl: string, ...waiting: Interceptors) => Transport> = {
  Connect: (baseUrl, ...interceptors) => createConnectTransport({ baseUrl, interceptors }),
  'Connect, binary': (baseUrl, ...interceptors) =>
    createConnectTransport({ baseUrl, interceptors, useBinaryFormat: true }),
  'gRPC-Web': (baseUrl, ...interceptors) => createGrpcWebTransport({ baseUrl, interceptors }),
}

type Interceptors = ReturnType<typeof rateLimitInterceptor>[]

const request = () => ({
  envelopes: [{ topic: 'greetings', payload: { case: 'applicationMessage' as const, value: new Uint8Array([1]) } }],
})

/** What Connect-Web and the client of this package read of an error. */
function read(thrown: unknown) {
  const error = ConnectError.from(thrown)
  return {
    code: Code[error.code],
    message: error.rawMessage,
    reasons: error.findDetails(ErrorInfoSchema).map(({ reason }) => reason),
    delays: error.findDetails(RetryInfoSchema).length,
    rejection: rejectionOf(error, DOMAIN),
    delayMs: retryDelayOf(error),
  }
}

/** Publishes without waiting. */
export async function publish(protocol: string, baseUrl: string) {
  try {
    await createClient(BackendService, transports[protocol]!(baseUrl)).publish(request())
    return 'published'
  } catch (error) {
    return read(error)
  }
}

/** Publishes with the interceptor; tells how long it said that it waits, and how long it took. */
export async function publishPatiently(protocol: string, baseUrl: string) {
  const waits: number[] = []
  const interceptor = rateLimitInterceptor({ domain: DOMAIN, jitterMs: 0, onWait: ({ waitMs }) => waits.push(waitMs) })
  const client = createClient(BackendService, transports[protocol]!(baseUrl, interceptor))
  const startedAt = performance.now()
  const { sequenceIds } = await client.publish(request())
  return { waits, tookMs: performance.now() - startedAt, stored: sequenceIds.length }
}

/** What a stream delivers, and what it ends with. */
export async function subscribe(protocol: string, baseUrl: string) {
  const interceptor = rateLimitInterceptor({ domain: DOMAIN })
  const client = createClient(BackendService, transports[protocol]!(baseUrl, interceptor))
  const events: (string | undefined)[] = []
  try {
    for await (const { event } of client.subscribeStatic({ topics: [{ topic: 'greetings' }] })) events.push(event.case)
    return { events }
  } catch (error) {
    return { events, ...read(error) }
  }
}
