import type { Http2ServerRequest } from 'node:http2'
import { ConnectError } from '@connectrpc/connect'
import type { FastifyRequest } from 'fastify'
import type { Caller } from './caller/caller.ts'
import { requestAddress } from './caller/request-address.ts'
import { undeclaredSpend } from './charge/handler-spend.ts'
import type { RpcCharging } from './connect/rpc-charges.ts'
import type { Denial, Limiter, ResolvedCaller } from './limiter.ts'
import { denialError } from './rejection/denial-error.ts'
import { asHttpError } from './rejection/http.ts'
import type { OpenStream } from './stream/open-stream.ts'

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
   * The caller, found out now if it is not known yet, as in a free RPC that shows what is left. Charges nothing.
   * @throws what the option `identify` throws.
   */
  identify(): Promise<ResolvedCaller>

  /**
   * Spends `cost` units of `category`. Resolves when they are admitted.
   * @throws ConnectError `resource_exhausted`, when they are denied: let it through, and the client reads the rejection.
   * RangeError, for a category that is not declared, or a cost that is no whole number from 0 to 2⁵³ − 1. Error, in a
   * handler of an RPC that does not declare the category `by_handler`. Nothing is charged then.
   */
  spend(category: string, cost: number): Promise<void>

  /**
   * Opens a stream that holds `topics` topics (0 … 2⁵³ − 1), and pays its rent for the first period; it pays again for each
   * period that it is open, and ends with the response at the latest (RATE-030). Only in the handler of a streaming RPC.
   * @throws ConnectError `resource_exhausted`, when the rent is denied: let it through, and the client reads the
   * rejection. ConnectError `unavailable`, when the server closes or too many streams are open (option `streams.maxOpen`);
   * whatever the request was aborted with, when its client has gone. RangeError, when `topics` or the rent of it is no
   * such number. Error, in the handler of an RPC that does not declare the category of the rent `by_handler`. Nothing is
   * charged then.
   */
  openStream(topics: number): Promise<OpenStream>
}

/** What all requests of one plugin share. */
export interface AllowanceServices {
  readonly limiter: Limiter
  readonly identify: Identify | undefined
  readonly onDenied: OnDenied | undefined
  readonly domain: string
}

/** The client has gone before it was known who it is, so that there is nobody to charge and nobody to answer. */
export class ClientGoneError extends Error {
  override readonly name = 'ClientGoneError'
}

/** The allowance of one request. */
export class RequestAllowance implements Omit<Allowance, 'identify' | 'openStream'> {
  readonly #services: AllowanceServices
  readonly #request: FastifyRequest
  #identifying: Promise<ResolvedCaller> | undefined
  caller: ResolvedCaller | undefined
  /** To be called when the response of a streaming RPC that opened a stream is at its end, taken by its client or not. */
  onResponseEnd: (() => void) | undefined

  constructor(services: AllowanceServices, request: FastifyRequest) {
    this.#services = services
    this.#request = request
  }

  /**
   * Works out the caller, once (RATE-001): what `identify` says, or else the client address.
   * @throws what `identify` throws, or an Error that does not show it when it is none; ClientGoneError; TypeError when `identify`
   * returns something else than an identity.
   */
  identify(): ResolvedCaller | Promise<ResolvedCaller> {
    const known = this.caller ?? this.#identifying
    if (known !== undefined) return known
    const identity = this.#ask()
    if (!isPromiseLike(identity)) return this.#resolve(identity)
    this.#identifying = Promise.resolve(identity).then((value) => this.#resolve(value), throwAsError)
    return this.#identifying
  }

  /** @param rpc The RPC whose handler spends, which must declare it; undefined: outside of a handler. */
  async spend(category: string, cost: number, rpc?: RpcCharging): Promise<void> {
    try {
      const id = rpc?.byHandler.get(category) ?? this.#undeclared(category, rpc)
      const error = this.charge(await this.identify(), id, cost)
      if (error !== undefined) throw error
    } catch (error) {
      if (error instanceof ConnectError) throw asHttpError(error)
      this.report(error, 'spend failed')
      throw error
    }
  }

  /** Logs an error of a handler's own making: Connect hides it from clients, and tells nobody else. */
  report(error: unknown, what: string): void {
    this.#request.log.error({ err: error }, what)
  }

  /** Whether the client has left. One that does before its handler is called aborts no signal. */
  get hasGone(): boolean {
    const { raw } = this.#request
    if ('stream' in raw) return (raw as unknown as Http2ServerRequest).stream.destroyed
    return raw.socket.destroyed
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

  /** The number of a category that no RPC declares for its handler, as it need not outside of one. */
  #undeclared(category: string, rpc: RpcCharging | undefined): number {
    const id = this.#services.limiter.categoryId(category)
    if (rpc !== undefined) throw undeclaredSpend(rpc.plan, category)
    return id
  }

  #ask(): ReturnType<Identify> {
    try {
      return this.#services.identify?.(this.#request)
    } catch (error) {
      return throwAsError(error)
    }
  }

  #resolve(identity: Identity): ResolvedCaller {
    const { limiter } = this.#services
    const isKnown = identity != null && !(identity.type === 'jwt' && identity.sub === undefined)
    this.caller = limiter.resolve(isKnown ? (identity as Caller) : { type: 'ip', address: this.#clientAddress() })
    return this.caller
  }

  /** RATE-002. Fastify's own `trustProxy` has no say. */
  #clientAddress(): string {
    const { raw, server } = this.#request
    const address = requestAddress(raw, server.server, this.#services.limiter.policy.trustedProxies)
    if (address === undefined) throw new ClientGoneError()
    return address
  }
}

/** Fastify would show a client what was thrown, and a log the cause of an error: it may be a credential. */
function throwAsError(thrown: unknown): never {
  throw thrown instanceof Error ? thrown : new Error('identify threw what is no Error')
}

function isPromiseLike<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as Partial<PromiseLike<T>> | null | undefined)?.then === 'function'
}
