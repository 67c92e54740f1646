import type { Http2ServerRequest } from 'node:http2'
import { Code, ConnectError } from '@connectrpc/connect'
import type { FastifyRequest } from 'fastify'
import type { Caller } from './caller/caller.ts'
import { clientAddress } from './caller/client-address.ts'
import type { Denial, Limiter, ResolvedCaller } from './limiter.ts'
import { denialError } from './rejection/denial-error.ts'
import { asHttpError } from './rejection/http.ts'
import type { OpenStream } from './stream/open-stream.ts'
import type { Streams } from './stream/streams.ts'
import { RpcStreamHost, type StreamCategories, type StreamResponse } from './stream-host.ts'

/** Who a request is from. Nothing, or a JWT whose claims carry no `sub`: whoever has the client address (RATE-001). */
export type Identity = Caller | { type: 'jwt'; iss?: string | undefined; sub?: string | undefined } | undefined | null

/** Says who a request is from. Throws when the credentials are no good. */
export type Identify = (request: FastifyRequest) => Identity | Promise<Identity>

/** Told of every denial, with the request that is refused for it. */
export type OnDenied = (denial: Denial, request: FastifyRequest) => unknown

/** What a request or a handler can do with the allowance of its caller. */
export interface Allowance {
  /** The caller that is charged. undefined until it is known: in a free RPC or a plain route, before the first spend. */
  readonly caller: ResolvedCaller | undefined

  /**
   * Spends `cost` units of `category`. Resolves when they are admitted.
   * @throws ConnectError `resource_exhausted`, when they are denied: let it through, and the client reads the rejection.
   * RangeError, for a category that is not declared, or a cost that is no whole number from 0 to 2⁵³ − 1.
   */
  spend(category: string, cost: number): Promise<void>

  /**
   * Opens a stream that holds `topics` topics (0 … 2⁵³ − 1), and pays its rent for the first period; it pays again for each
   * period that it is open, and ends with the response at the latest (RATE-030). Only in the handler of a streaming RPC.
   * @throws ConnectError `resource_exhausted`, when the rent is denied: let it through, and the client reads the
   * rejection. ConnectError `unavailable`, when the server closes; whatever the request was aborted with, when its
   * client has gone. RangeError, when `topics` or the rent of it is no such number. Nothing is charged then.
   */
  openStream(topics: number): Promise<OpenStream>
}

/** What all requests of one plugin share. */
export interface AllowanceServices {
  readonly limiter: Limiter
  readonly identify: Identify | undefined
  readonly onDenied: OnDenied | undefined
  readonly domain: string
  readonly streams: Streams
  readonly streamCategories: StreamCategories
}

/** The client has gone before it was known who it is, so that there is nobody to charge and nobody to answer. */
export class ClientGoneError extends Error {
  override readonly name = 'ClientGoneError'
}

/** The allowance of one request. */
export class RequestAllowance implements Allowance {
  readonly #services: AllowanceServices
  readonly #request: FastifyRequest
  #identifying: Promise<ResolvedCaller> | undefined
  #response: StreamResponse | undefined
  caller: ResolvedCaller | undefined

  constructor(services: AllowanceServices, request: FastifyRequest) {
    this.#services = services
    this.#request = request
  }

  /**
   * Works out the caller, once (RATE-001): what `identify` says, or else the client address.
   * @throws whatever `identify` throws; ClientGoneError; TypeError when `identify` returns something else than an identity.
   */
  identify(): ResolvedCaller | Promise<ResolvedCaller> {
    const known = this.caller ?? this.#identifying
    if (known !== undefined) return known
    const { identify } = this.#services
    const identity = identify?.(this.#request)
    if (!isPromiseLike(identity)) return this.#resolve(identity)
    this.#identifying = Promise.resolve(identity).then((value) => this.#resolve(value))
    return this.#identifying
  }

  async spend(category: string, cost: number): Promise<void> {
    try {
      const id = this.#services.limiter.categoryId(category)
      const error = this.charge(await this.identify(), id, cost)
      if (error !== undefined) throw error
    } catch (error) {
      if (error instanceof ConnectError) throw asHttpError(error)
      // Connect hides such an error from clients, and tells nobody else.
      this.#request.log.error({ err: error }, 'spend failed')
      throw error
    }
  }

  /** Lets the handler open streams: it serves a streaming RPC. */
  serve(response: StreamResponse): void {
    this.#response = response
  }

  async openStream(topics: number): Promise<OpenStream> {
    const response = this.#response
    if (response === undefined) throw new Error('openStream: a stream can be opened by a streaming RPC only')
    const { streams, streamCategories } = this.#services
    const caller = await this.identify()
    // A client that left before its handler was called aborts no signal.
    if (hasGone(this.#request)) throw new ConnectError('the client has gone', Code.Canceled)
    return streams.open(topics, new RpcStreamHost(this, caller, response, streamCategories))
  }

  /** Spends in a category by its number. Returns the rejection when it is denied. */
  charge(caller: ResolvedCaller, category: number, cost: number): ConnectError | undefined {
    const denial = this.tryCharge(caller, category, cost, cost)
    return denial && this.rejectionOf(denial)
  }

  /** Spends in a category by its number. The denial tells the retry delay of a spend of `retryCost`. */
  tryCharge(caller: ResolvedCaller, category: number, cost: number, retryCost: number): Denial | undefined {
    const { limiter } = this.#services
    const exact = limiter.spendIn(caller, category, cost)
    if (exact === undefined) return undefined
    const isExact = retryCost === cost
    const denial = isExact ? exact : { ...exact, retryDelayMs: limiter.retryDelay(caller, exact.category, retryCost) }
    this.#tell(denial).catch((error: unknown) => this.#request.log.error({ err: error }, 'onDenied failed'))
    return denial
  }

  /** What the client reads of a denial. */
  rejectionOf(denial: Denial): ConnectError {
    return denialError(denial, this.#services.domain)
  }

  async #tell(denial: Denial): Promise<void> {
    await this.#services.onDenied?.(denial, this.#request)
  }

  #resolve(identity: Identity): ResolvedCaller {
    const { limiter } = this.#services
    const isKnown = identity != null && !(identity.type === 'jwt' && identity.sub === undefined)
    this.caller = limiter.resolve(isKnown ? (identity as Caller) : { type: 'ip', address: this.#clientAddress() })
    return this.caller
  }

  /** RATE-002. Fastify's own `trustProxy` has no say: this reads the socket and the raw header. */
  #clientAddress(): string {
    const { raw } = this.#request
    const peer = raw.socket.remoteAddress
    if (peer === undefined && !isOnUnixSocket(this.#request)) throw new ClientGoneError()
    return clientAddress(peer, raw.headers['x-forwarded-for'], this.#services.limiter.policy.trustedProxies)
  }
}

function isPromiseLike<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as Partial<PromiseLike<T>> | null | undefined)?.then === 'function'
}

function hasGone({ raw }: FastifyRequest): boolean {
  if ('stream' in raw) return (raw as unknown as Http2ServerRequest).stream.destroyed
  return raw.socket.destroyed
}

/**
 * Whether a request without an address came over a Unix socket. A client that resets its TCP connection right after
 * sending has no address either: taken for one, it could choose whom it is charged to where `unix` is trusted.
 */
function isOnUnixSocket(request: FastifyRequest): boolean {
  // HTTP/1.1 sockets know their server, also where the app is served by another than Fastify's.
  const { server = request.server.server } = request.raw.socket as { server?: { address(): unknown } }
  return typeof server.address() === 'string'
}
