import { type Client, createClient, type Transport } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node'
import { credentials, loadPackageDefinition, type ServiceError } from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import { demo } from '../../example-server/demo.ts'
import { BackendService, type StoredEnvelope } from '../../example-server/gen/example/v1/backend_pb.ts'
import { ofServiceError } from '../support/grpc-js-client.ts'
import { until } from '../support/live-app.ts'
import { ofConnectError, type SeenError } from '../support/rejection.ts'
import { type Backend, clientsOf, LOOPBACK, left, message, start } from './harness.ts'

type Test = Parameters<typeof start>[0]
type Server = Awaited<ReturnType<typeof start>>

/** An update: topics to register, with the sequence ids after which they are wanted. */
export interface Update {
  id?: number
  adds?: Record<string, number>
  removes?: string[]
}

/** An open stream, as its client sees it. */
export interface Subscriber {
  /** `Started`, `Applied 7: 3 topics, target 12`, and for each envelope `topic 12`. */
  readonly received: string[]
  /** How it ended; undefined: without an error. */
  readonly outcome: Promise<SeenError | undefined>
  /** Resolves when so much has been received, or no more will be. */
  has(count: number): Promise<void>
  leave(): void
}

export interface BidiSubscriber extends Subscriber {
  update(update: Update): void
  /** No more updates. */
  halfClose(): void
}

export const topicsFrom = (from: number, count: number): Record<string, number> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`topic ${from + i}`, 0]))

const cursors = (topics: Record<string, number>) =>
  Object.entries(topics).map(([topic, after]) => ({ topic, afterSequenceId: BigInt(after) }))

type Event = { case?: string | undefined; value?: unknown }

const words = ({ case: name, value }: Event): string[] => {
  if (name === 'started') return ['Started']
  if (name === 'applied') {
    const { updateId, topics, targetSequenceId } = value as Record<string, bigint | number>
    return [`Applied ${updateId}: ${topics} topics, target ${targetSequenceId}`]
  }
  const { envelopes } = value as { envelopes: StoredEnvelope[] }
  return envelopes.map(({ sequenceId, envelope }) => `${envelope!.topic} ${sequenceId}`)
}

const hasOf = (received: readonly string[], outcome: Promise<unknown>) => {
  let isOver = false
  outcome.then(() => {
    isOver = true
  })
  return (count: number) => until(() => isOver || received.length >= count)
}

const read = (messages: AsyncIterable<{ event: Event }>, leave: () => void): Subscriber => {
  const received: string[] = []
  const reading = async () => {
    for await (const { event } of messages) received.push(...words(event))
  }
  const outcome = reading().then(
    () => undefined,
    (error: unknown) => ofConnectError(error),
  )
  return { received, outcome, has: hasOf(received, outcome), leave }
}

/** SubscribeStatic. */
export const watch = (backend: Backend, topics: Record<string, number>): Subscriber => {
  const leaving = new AbortController()
  const call = backend.subscribeStatic({ topics: cursors(topics) }, { signal: leaving.signal })
  return read(call, () => leaving.abort())
}

const connectSubscriber = (transport: Transport) => (): BidiSubscriber => {
  const backend: Client<typeof BackendService> = createClient(BackendService, transport)
  const leaving = new AbortController()
  const { readable, writable } = new TransformStream<Update>(undefined, { highWaterMark: 1000 })
  const updates = writable.getWriter()
  const requests = async function* () {
    for await (const { id = 0, adds = {}, removes = [] } of readable) {
      yield { updateId: BigInt(id), adds: cursors(adds), removes }
    }
  }
  return {
    ...read(backend.subscribe(requests(), { signal: leaving.signal }), () => leaving.abort()),
    update: (update) => void updates.write(update).catch(() => {}),
    halfClose: () => void updates.close().catch(() => {}),
  }
}

type GrpcJsCall = {
  on(event: string, listener: (value: never) => void): GrpcJsCall
  write(message: object): boolean
  end(): void
  cancel(): void
}

const grpcJsSubscriber = (t: Test, url: string) => {
  const options = { includeDirs: ['proto'], longs: Number, oneofs: true, defaults: true }
  const { example } = loadPackageDefinition(loadSync('example/v1/backend.proto', options)) as never as {
    example: { v1: { BackendService: new (...args: unknown[]) => { Subscribe(): GrpcJsCall; close(): void } } }
  }
  const stub = new example.v1.BackendService(new URL(url).host, credentials.createInsecure())
  t.teardown(() => stub.close())
  return (): BidiSubscriber => {
    const call = stub.Subscribe()
    const received: string[] = []
    call.on('data', (message: { event: string }) => {
      received.push(...words({ case: message.event, value: (message as Record<string, unknown>)[message.event] }))
    })
    const outcome = new Promise<SeenError | undefined>((resolve) => {
      // One without is that of a write that came too late.
      call.on('error', (error: ServiceError) => error.metadata && resolve(ofServiceError(error)))
      call.on('end', () => setImmediate(resolve, undefined))
    })
    return {
      received,
      outcome,
      has: hasOf(received, outcome),
      leave: () => call.cancel(),
      update: ({ id = 0, adds = {}, removes = [] }) =>
        void call.write({
          updateId: id,
          adds: Object.entries(adds).map(([topic, afterSequenceId]) => ({ topic, afterSequenceId })),
          removes,
        }),
      halfClose: () => call.end(),
    }
  }
}

/** Opens Subscribe, with each client that can speak bidi. */
export const bidiClients = (t: Test, { urls }: Server) => [
  { name: 'gRPC of connect-node', open: connectSubscriber(createGrpcTransport({ baseUrl: urls.h2c })) },
  { name: 'Connect', open: connectSubscriber(createConnectTransport({ baseUrl: urls.h2c, httpVersion: '2' })) },
  { name: 'grpc-js', open: grpcJsSubscriber(t, urls.h2c) },
]

/** A server, what one does to the allowance of those who subscribe, and somebody else who publishes. */
export const serve = async (t: Test, counts: Record<string, number> = {}) => {
  const server = await start(t, { request: 60, publish: 1_000_000, ...counts })
  const { backend: publisher } = clientsOf(server.urls, { 'x-api-key': demo.apiKey }).at(-1)!
  return {
    ...server,
    /** Publishes an envelope to each, all in one request. */
    publish: async (...topics: string[]) => {
      await publisher.publish({ envelopes: topics.map((topic) => message(topic)) })
    },
    publisher,
    advance: (seconds: number) => server.clock.advance(BigInt(Math.round(seconds * 1000)) * 1_000_000n),
    units: (category: string) => left(server.limiter, LOOPBACK)[category]!,
    spend: (category: string, units: number) => server.limiter.spend(LOOPBACK, category, units),
  }
}

/** The clients by which SubscribeStatic can be called. */
export const streaming = (clients: Server['clients']) => clients.filter(({ name }) => !name.includes('GET'))
