import { createClient, type Transport } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node'
import * as web from '@connectrpc/connect-web'
import { MatrixService } from '../gen/test/v1/matrix_pb.ts'
import { grpcJsClient } from './grpc-js-client.ts'
import { pathOf } from './matrix-app.ts'
import { ofConnectError, ofConnectJson, type SeenError } from './rejection.ts'

export type Kind = 'Unary' | 'ServerStream' | 'ClientStream' | 'Bidi'

/** What came of a call: the texts that the client received, and how it failed. */
export interface Outcome {
  readonly received: readonly string[]
  readonly error: SeenError | undefined
}

export interface MatrixClient {
  readonly name: string
  /** What it can call, on a server that speaks its version of HTTP. */
  readonly kinds: readonly Kind[]
  /** Calls with one item: in the message, or in the second of the two that it streams. */
  call(kind: Kind, headers: Record<string, string>): Promise<Outcome>
  close?(): void
}

const allKinds: readonly Kind[] = ['Unary', 'ServerStream', 'ClientStream', 'Bidi']
const one = { items: ['one'] }

async function* oneOfTwo() {
  yield { items: [] }
  yield one
}

/** Every client of the matrix for a server that speaks HTTP/1.1 or HTTP/2 at `baseUrl`. */
export const matrixClients = (baseUrl: string, http2: boolean): MatrixClient[] => {
  const node = { baseUrl, httpVersion: http2 ? '2' : '1.1' } as const
  const codecs = [true, false].map((useBinaryFormat) => ({ ...node, useBinaryFormat }))
  const named = (name: string, { useBinaryFormat }: { useBinaryFormat: boolean }) =>
    `${name}, ${useBinaryFormat ? 'binary' : 'JSON'}`
  const clients = codecs.flatMap((codec) => [
    ofTransport(named('connect-node Connect', codec), createConnectTransport(codec)),
    ofTransport(named('connect-node Connect GET', codec), createConnectTransport({ ...codec, useHttpGet: true }), [
      'Unary',
    ]),
    ofTransport(named('connect-node gRPC-Web', codec), createGrpcWebTransport(codec)),
    ...(http2 ? [ofTransport(named('connect-node gRPC', codec), createGrpcTransport(codec))] : []),
  ])
  if (http2) return [...clients, grpcJsClient(baseUrl)]

  const inBrowsers: Kind[] = ['Unary', 'ServerStream']
  for (const codec of codecs) {
    clients.push(
      ofTransport(named('connect-web Connect', codec), web.createConnectTransport(codec), inBrowsers),
      ofTransport(named('connect-web Connect GET', codec), web.createConnectTransport({ ...codec, useHttpGet: true }), [
        'Unary',
      ]),
      ofTransport(named('connect-web gRPC-Web', codec), web.createGrpcWebTransport(codec), inBrowsers),
    )
  }
  return [...clients, fetchClient('fetch POST', baseUrl, postJson), fetchClient('fetch GET', baseUrl, getJson)]
}

const ofTransport = (name: string, transport: Transport, kinds = allKinds): MatrixClient => {
  const client = createClient(MatrixService, transport)
  return {
    name,
    kinds,
    async call(kind, headers) {
      const received: string[] = []
      try {
        switch (kind) {
          case 'Unary':
            received.push((await client.unary(one, { headers })).text)
            break
          case 'ClientStream':
            received.push((await client.clientStream(oneOfTwo(), { headers })).text)
            break
          case 'ServerStream':
            for await (const { text } of client.serverStream(one, { headers })) received.push(text)
            break
          case 'Bidi':
            for await (const { text } of client.bidi(oneOfTwo(), { headers })) received.push(text)
        }
        return { received, error: undefined }
      } catch (thrown) {
        return { received, error: ofConnectError(thrown) }
      }
    },
  }
}

const postJson = (url: string, headers: Record<string, string>): Request =>
  new Request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(one),
  })

const getJson = (url: string, headers: Record<string, string>): Request =>
  new Request(`${url}?connect=v1&encoding=json&message=${encodeURIComponent(JSON.stringify(one))}`, { headers })

const fetchClient = (name: string, baseUrl: string, requestOf: typeof postJson): MatrixClient => ({
  name,
  kinds: ['Unary'],
  async call(kind, headers) {
    const response = await fetch(requestOf(baseUrl + pathOf(kind), headers))
    const body = await response.json()
    if (response.ok) return { received: [(body as { text: string }).text], error: undefined }
    return { received: [], error: ofConnectJson(body, response.headers.get('retry-after')) }
  },
})
