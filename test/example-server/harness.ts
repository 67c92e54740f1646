import { generateKeyPairSync, sign } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import { type Client, ConnectError, createClient, type Interceptor, type Transport } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node'
import { type CryptoKey, SignJWT } from 'jose'
import { demo } from '../../example-server/demo.ts'
import {
  BackendService,
  type Envelope,
  EnvelopeSchema,
  type Erc6492Signature,
  Erc6492SignatureSchema,
  type Signature,
  SignatureSchema,
} from '../../example-server/gen/example/v1/backend_pb.ts'
import { createExampleServer, type ExampleServerOptions } from '../../example-server/server.ts'
import { identityUpdateMessage, walletAccount } from '../../example-server/signatures.ts'
import { ErrorInfoSchema, RetryInfoSchema } from '../../src/gen/google/rpc/error_details_pb.ts'
import { type Caller, createLimiter, type Limiter, manualClock } from '../../src/index.ts'

export const SERVICE = BackendService.typeName
export const CATEGORIES = ['request', 'publish', 'identity_update', 'chain_verify', 'push', 'upload', 'stream_rent']
export const LOOPBACK: Caller = { type: 'ip', address: '127.0.0.1' }
export const DEMO_KEY: Caller = { type: 'api_key', name: demo.apiKeyName }

/** `limits({ publish: 7 })`: 7 per 60 s, and so on. */
export function limits(counts: Record<string, number>) {
  const entries = Object.entries(counts).map(([name, count]) => [name, { default: [{ count, windowSeconds: 60 }] }])
  return { maxMemoryMib: 1, categories: Object.fromEntries(entries) }
}

interface Teardown {
  teardown(run: () => unknown): unknown
}

/** A server on the loopback, whose time stands still unless `clock` is moved, with the lines that it logs. */
export async function start(t: Teardown, counts: Record<string, number> = {}, options: ExampleServerOptions = {}) {
  const clock = manualClock(0n)
  const limiter = createLimiter({ rateLimits: limits(counts), clock })
  const logged: string[] = []
  const server = await createExampleServer({ limiter, log: { write: (line) => logged.push(line) }, ...options })
  const urls = await server.listen()
  t.teardown(() => server.close())
  return { ...server, clock, urls, logged, clients: clientsOf(urls) }
}

export type Backend = Client<typeof BackendService>

/** The same service by every protocol, over HTTP/1.1 and h2c. */
export function clientsOf(urls: { http: string; h2c: string }, headers: Record<string, string> = {}) {
  const withHeaders: Interceptor = (next) => (request) => {
    for (const [name, value] of Object.entries(headers)) request.header.set(name, value)
    return next(request)
  }
  const common = { interceptors: [withHeaders] }
  const http = { ...common, baseUrl: urls.http, httpVersion: '1.1' } as const
  const h2c = { ...common, baseUrl: urls.h2c, httpVersion: '2' } as const
  const transports: Record<string, Transport> = {
    'Connect JSON, HTTP/1.1': createConnectTransport({ ...http, useBinaryFormat: false }),
    'Connect binary, HTTP/1.1': createConnectTransport({ ...http, useBinaryFormat: true }),
    'Connect GET, HTTP/1.1': createConnectTransport({ ...http, useBinaryFormat: false, useHttpGet: true }),
    'gRPC-Web, HTTP/1.1': createGrpcWebTransport(http),
    'Connect, h2c': createConnectTransport(h2c),
    'gRPC-Web, h2c': createGrpcWebTransport(h2c),
    'gRPC, h2c': createGrpcTransport({ ...common, baseUrl: urls.h2c }),
  }
  return Object.entries(transports).map(([name, transport]) => ({
    name,
    backend: createClient(BackendService, transport),
  }))
}

/** The answer to a call: `ok`, the code of an error, or, for a rate-limit rejection, its category and delay. */
export async function answer(call: Promise<unknown>): Promise<string> {
  try {
    await call
    return 'ok'
  } catch (error) {
    const { code, details } = ConnectError.from(error)
    const connectError = ConnectError.from(error)
    const [info] = connectError.findDetails(ErrorInfoSchema)
    const [retry] = connectError.findDetails(RetryInfoSchema)
    if (details.length === 0) return CODES[code] ?? `code ${code}`
    const { seconds = 0n, nanos = 0 } = retry?.retryDelay ?? {}
    return `${CODES[code]} ${info?.reason} ${info?.domain} ${info?.metadata.category} ${Number(seconds) * 1000 + nanos / 1e6} ms`
  }
}

const CODES: Record<number, string> = {
  3: 'invalid_argument',
  5: 'not_found',
  8: 'resource_exhausted',
  9: 'failed_precondition',
  12: 'unimplemented',
  13: 'internal',
  14: 'unavailable',
  16: 'unauthenticated',
}

/** What `answer` says for a denial. */
export function denied(category: string, ms: number): string {
  return `resource_exhausted RATE_LIMITED xmtp.org ${category} ${ms} ms`
}

/** Units left of the first limit in each category, for a caller. */
export function left(limiter: Limiter, caller: Caller): Record<string, number> {
  return Object.fromEntries(CATEGORIES.map((name) => [name, limiter.remaining(caller, name)[0]?.units ?? 0]))
}

/** What `before` and `after` differ by: the units spent by category, without those that are 0. */
export function spent(before: Record<string, number>, after: Record<string, number>): Record<string, number> {
  const differences = CATEGORIES.map((name) => [name, before[name]! - after[name]!] as const)
  return Object.fromEntries(differences.filter(([, units]) => units !== 0))
}

export function message(topic = 'a topic', text = 'hello'): Envelope {
  return create(EnvelopeSchema, { topic, payload: { case: 'applicationMessage', value: Buffer.from(text) } })
}

export function identityUpdate(inboxId: string, signatures: Signature[]): Envelope {
  return create(EnvelopeSchema, {
    topic: `identity of ${inboxId}`,
    payload: { case: 'identityUpdate', value: { $typeName: 'example.v1.IdentityUpdate', inboxId, signatures } },
  })
}

/** A key pair on secp256k1 that signs as an owner and as a wallet. */
export function createSigner() {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'secp256k1' })
  const der = publicKey.export({ format: 'der', type: 'spki' })
  const ecdsa = (bytes: Uint8Array) => ({
    publicKey: new Uint8Array(der),
    signature: new Uint8Array(sign('sha256', bytes, { key: privateKey, dsaEncoding: 'ieee-p1363' })),
  })
  const wallet = (bytes: Uint8Array, chainId = 1n): Erc6492Signature =>
    create(Erc6492SignatureSchema, {
      chainId,
      account: new Uint8Array(walletAccount(chainId, der)),
      owner: ecdsa(bytes),
    })
  return {
    ecdsa,
    wallet,
    signUpdate: (inboxId: string) =>
      create(SignatureSchema, {
        kind: {
          case: 'ecdsa',
          value: { $typeName: 'example.v1.EcdsaSignature', ...ecdsa(identityUpdateMessage(inboxId)) },
        },
      }),
    signUpdateAsWallet: (inboxId: string) =>
      create(SignatureSchema, { kind: { case: 'erc6492', value: wallet(identityUpdateMessage(inboxId)) } }),
  }
}

/** A token, by default one that the demo issuer signed. */
export function token(
  claims: Record<string, unknown>,
  { secret = demo.secret as string | Uint8Array | CryptoKey, alg = demo.alg as string } = {},
): Promise<string> {
  const key = typeof secret === 'string' ? new TextEncoder().encode(secret) : secret
  return new SignJWT({ iss: demo.iss, ...claims }).setProtectedHeader({ alg }).sign(key)
}
