import { join } from 'node:path'
import { createClient, type Transport } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node'
import * as web from '@connectrpc/connect-web'
import t from 'tap'
import { MatrixService } from '../gen/test/v1/matrix_pb.ts'
import { grpcJsStub, metadataOf, ofServiceError } from '../support/grpc-js-client.ts'
import type { Teardown } from '../support/matrix-app.ts'
import { start as startProgram } from '../support/program.ts'
import { ofConnectError, type SeenError } from '../support/rejection.ts'

const headers = { 'x-caller': 'writer' }
const program = join(import.meta.dirname, '../support/refusing-server.ts')

/** Starts the server; `stop` resolves to its exit code. */
const start = async (t: Teardown, httpVersion: '1.1' | '2') => {
  const { child, until, end } = startProgram(t, [process.execPath, program, httpVersion], {
    plain: true,
    stdin: 'pipe',
  })
  const [address] = await until(/^.*\n/)
  const stop = async () => {
    child.stdin!.end()
    return (await end())[0]
  }
  return { baseUrl: address.trim(), stop }
}

/** A message of `size` bytes, and a stream of as many in pieces. */
const messageOf = (size: number) => ({ items: ['one'], padding: new Uint8Array(size) })
async function* piecesOf(size: number) {
  for (let left = size; left >= 0; left -= 100_000) yield messageOf(Math.min(left, 100_000))
}

type Call = (size: number) => Promise<unknown>

const callsOf = (name: string, transport: Transport, inBrowser: boolean): [string, Call][] => {
  const client = createClient(MatrixService, transport)
  const drain = async (responses: AsyncIterable<unknown>) => {
    for await (const _ of responses);
  }
  const calls: [string, Call][] = [
    [`${name}, unary`, (size) => client.unary(messageOf(size), { headers })],
    [`${name}, server stream`, (size) => drain(client.serverStream(messageOf(size), { headers }))],
  ]
  if (inBrowser) return calls
  return [
    ...calls,
    [`${name}, client stream`, (size) => client.clientStream(piecesOf(size), { headers })],
    [`${name}, bidi`, (size) => drain(client.bidi(piecesOf(size), { headers }))],
  ]
}

const grpcJsCalls = (t: Teardown, baseUrl: string): [string, Call][] => {
  const stub = grpcJsStub(baseUrl)
  t.teardown(() => stub.close())
  const metadata = metadataOf(headers)
  const settled = (run: (done: (error: Error | null) => void) => void) =>
    new Promise<void>((resolve, reject) => run((error) => (error === null ? resolve() : reject(error))))
  return [
    ['grpc-js, unary', (size) => settled((done) => stub.Unary(messageOf(size), metadata, done))],
    [
      'grpc-js, client stream',
      (size) =>
        settled(async (done) => {
          const call = stub.ClientStream(metadata, done)
          for await (const piece of piecesOf(size)) call.write(piece)
          call.end()
        }),
    ],
  ]
}

const errorOf = async (call: Promise<unknown>): Promise<SeenError | 'admitted'> => {
  try {
    await call
    return 'admitted'
  } catch (error) {
    return error instanceof Error && 'metadata' in error && 'details' in error && typeof error.details === 'string'
      ? ofServiceError(error as Parameters<typeof ofServiceError>[0])
      : ofConnectError(error)
  }
}

const isDenial = (error: SeenError | 'admitted') =>
  error !== 'admitted' && error.code === 'resource_exhausted' && error.details.length === 2

/** Makes every call `times` times with every size. */
const allRefused = async (
  t: Teardown & { same(found: unknown, wanted: unknown, name: string): unknown },
  calls: [string, Call][],
  sizes: readonly [size: number, times: number][],
) => {
  for (const [name, call] of calls) {
    for (const [size, times] of sizes) {
      const others: unknown[] = []
      for (let i = 0; i < times; i++) {
        const error = await errorOf(call(size))
        if (!isDenial(error)) others.push(error)
      }
      t.same(others, [], `${name}, ${size} bytes, ${times} times`)
    }
  }
}

t.test('RATE-040 over HTTP/1.1: a client in another process reads its refusal, however much it sends', async (t) => {
  const { baseUrl, stop } = await start(t, '1.1')
  const node = { baseUrl, httpVersion: '1.1' } as const
  const calls = [
    ...callsOf('connect-node Connect', createConnectTransport(node), false),
    ...callsOf('connect-node gRPC-Web', createGrpcWebTransport(node), false),
    ...callsOf('connect-web Connect', web.createConnectTransport({ baseUrl }), true),
    ...callsOf('connect-web gRPC-Web', web.createGrpcWebTransport({ baseUrl }), true),
  ]
  await allRefused(t, calls, [
    [0, 10],
    [10_000, 10],
    [900_000, 5],
    [2_000_000, 5],
  ])
  t.equal(await stop(), 0, 'and the server closes')
})

t.test('RATE-040 over HTTP/2: a client in another process reads its refusal, however much it sends', async (t) => {
  const { baseUrl, stop } = await start(t, '2')
  const node = () => ({ baseUrl, httpVersion: '2' }) as const
  const makers = [
    ['connect-node Connect', createConnectTransport],
    ['connect-node gRPC-Web', createGrpcWebTransport],
    ['connect-node gRPC', createGrpcTransport],
  ] as const
  // Sessions of their own: what a client could not send of a longer body stays in its session's memory, 10 MB at most.
  for (const sizes of [
    [
      [0, 10],
      [10_000, 10],
      [900_000, 3],
    ],
    [[2_000_000, 1]],
  ] as [number, number][][]) {
    for (const [name, make] of makers) await allRefused(t, callsOf(name, make(node()), false), sizes)
    await allRefused(t, grpcJsCalls(t, baseUrl), sizes)
  }
  t.equal(await stop(), 0, 'and the server closes')
})
