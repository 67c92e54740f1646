import { type Client, createClient } from '@connectrpc/connect'
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
  Http2SessionManager,
} from '@connectrpc/connect-node'
import type { ServiceError } from '@grpc/grpc-js'
import t from 'tap'
import { MatrixService } from '../gen/test/v1/matrix_pb.ts'
import { grpcJsStub, metadataOf, ofServiceError } from '../support/grpc-js-client.ts'
import { second } from '../support/limiter-of.ts'
import { listeningMatrixApp, type MatrixApp } from '../support/matrix-app.ts'
import { heldBytes } from '../support/process-memory.ts'
import { ofConnectError, rejectionOf, type SeenError } from '../support/rejection.ts'

const large = { items: ['one'], padding: new Uint8Array(900_000) }
const caller = { type: 'api_key', name: 'large' } as const
const headers = { 'x-caller': caller.name }

/** Makes `count` calls of 900 kB, ten at a time, and counts how often each answer came. */
const answersTo = async (count: number, call: () => Promise<SeenError | 'admitted'>) => {
  const answers = new Map<string, number>()
  for (let made = 0; made < count; made += 10) {
    for (const answer of await Promise.all(Array.from({ length: 10 }, call))) {
      const text = JSON.stringify(answer)
      answers.set(text, (answers.get(text) ?? 0) + 1)
    }
  }
  return Object.fromEntries(answers)
}

/** Counts connections and, over HTTP/2, sessions. */
const counted = ({ app }: MatrixApp) => {
  const counts = { connections: 0 }
  app.server.on('connection', () => counts.connections++)
  return counts
}

const closesAtOnce = async ({ app }: MatrixApp): Promise<boolean> => {
  const before = performance.now()
  await app.close()
  return performance.now() - before < 1000
}

const callOf = (client: Client<typeof MatrixService>) => async () => {
  try {
    await client.unary(large, { headers })
    return 'admitted'
  } catch (error) {
    return ofConnectError(error)
  }
}

const inAll = (count: number) => ({ [JSON.stringify(rejectionOf('request', 60_000))]: count })
const limits = { request: '1/60' }

t.test('case 15: 300 refused calls of 900 kB on one connection of HTTP/2, and the next works', async (t) => {
  const transports = [
    ['Connect', createConnectTransport, 300],
    ['gRPC-Web', createGrpcWebTransport, 100],
    ['gRPC', createGrpcTransport, 100],
  ] as const
  for (const [name, createTransport, count] of transports) {
    t.test(`connect-node, ${name}`, async (t) => {
      const server = await listeningMatrixApp(t, { http2: true, limits })
      const counts = counted(server)
      const sessionManager = new Http2SessionManager(server.url)
      const transport = createTransport({ baseUrl: server.url, httpVersion: '2', sessionManager })
      const call = callOf(createClient(MatrixService, transport))
      server.limiter.spend(caller, 'request', 1)
      const before = heldBytes()

      t.same(await answersTo(count, call), inAll(count))
      t.ok(heldBytes().arrayBuffers - before.arrayBuffers < 20_000_000, 'of all the bodies nothing is held')
      t.same(server.called, [])
      server.clock.advance(60n * second)
      t.equal(await call(), 'admitted')
      t.same(server.called, ['Unary'])
      t.equal(counts.connections, 1)
      t.equal(server.clock.scheduled, 0, 'no timer is left')
      t.ok(await closesAtOnce(server), 'close() returns at once')
    })
  }

  t.test('grpc-js', async (t) => {
    const server = await listeningMatrixApp(t, { http2: true, limits })
    const counts = counted(server)
    const stub = grpcJsStub(server.url)
    t.teardown(() => stub.close())
    const call = () =>
      new Promise<SeenError | 'admitted'>((resolve) => {
        const done = (error: ServiceError | null) => resolve(error === null ? 'admitted' : ofServiceError(error))
        stub.Unary(large, metadataOf(headers), done)
      })
    server.limiter.spend(caller, 'request', 1)

    t.same(await answersTo(100, call), inAll(100))
    server.clock.advance(60n * second)
    t.equal(await call(), 'admitted')
    t.equal(counts.connections, 1)
    t.ok(await closesAtOnce(server), 'close() returns at once')
  })
})

t.test('case 15 over HTTP/1.1: refused calls of 900 kB leave the connections in use', async (t) => {
  const server = await listeningMatrixApp(t, { limits })
  const counts = counted(server)
  const call = callOf(createClient(MatrixService, createConnectTransport({ baseUrl: server.url, httpVersion: '1.1' })))
  server.limiter.spend(caller, 'request', 1)
  t.same(await answersTo(100, call), inAll(100))
  server.clock.advance(60n * second)
  t.equal(await call(), 'admitted')
  t.equal(counts.connections, 10, 'as many as calls were under way at a time')
  t.ok(await closesAtOnce(server), 'close() returns at once')
})
