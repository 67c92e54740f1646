import {
  type Client,
  createClient,
  createContextKey,
  type Interceptor,
  type StreamRequest,
  type UnaryRequest,
} from '@connectrpc/connect'
import { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-web'
import { rateLimitInterceptor, type Wait } from '../../src/client/index.ts'
import { DOMAIN } from '../domain.ts'
import { BackendService } from '../gen/example/v1/backend_pb.ts'

/** How the page talks to the server, and as whom. */
export interface Settings {
  readonly url: string
  readonly protocol: 'Connect' | 'gRPC-Web'
  readonly credential: Credential
}

export type Credential = { readonly kind: 'none' } | { readonly kind: 'api_key' | 'jwt'; readonly secret: string }

export interface Connection extends Settings {
  /** Waits when it is refused, and sends again. */
  readonly backend: Client<typeof BackendService>
  /** Does not: for what is free. */
  readonly free: Client<typeof BackendService>
  /** Aborted when calls go out as another caller, or to another server. */
  readonly left: AbortSignal
}

/** Is told what happens to a call on its way. */
export interface Watcher {
  /** It is sent, for the first time or again. */
  sent(): void
  /** It was refused, and waits. */
  waits(wait: Wait): void
}

export const watcherKey = createContextKey<Watcher | undefined>(undefined)

/** There is a person who watches and can cancel: wait as long as it takes, and exactly as long as the server says. */
export const patience = { domain: DOMAIN, maxTries: 1000, maxWaitMs: Infinity, jitterMs: 0 }

export function connect(settings: Settings, left: AbortSignal): Connection {
  const { url, protocol, credential } = settings
  const createTransport = protocol === 'Connect' ? createConnectTransport : createGrpcWebTransport
  const clientWith = (...interceptors: Interceptor[]) =>
    createClient(BackendService, createTransport({ baseUrl: url, interceptors: [...interceptors, signIn(credential)] }))
  const waiting = rateLimitInterceptor({
    ...patience,
    // A stream that was closed while it waited does not come back sooner by being opened anew.
    holdBack: (request) => request.stream,
    onWait: (wait, request) => watcherOf(request)?.waits(wait),
  })
  return { ...settings, backend: clientWith(waiting, noteTries), free: clientWith(), left }
}

// After the one that waits: it sees every try.
const noteTries: Interceptor = (next) => (request) => {
  watcherOf(request)?.sent()
  return next(request)
}

function signIn(credential: Credential): Interceptor {
  return (next) => (request) => {
    if (credential.kind === 'api_key') request.header.set('X-Api-Key', credential.secret)
    if (credential.kind === 'jwt') request.header.set('Authorization', `Bearer ${credential.secret}`)
    return next(request)
  }
}

function watcherOf(request: Pick<UnaryRequest | StreamRequest, 'contextValues'>): Watcher | undefined {
  return request.contextValues.get(watcherKey)
}
