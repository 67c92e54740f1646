import type { Http2ServerRequest } from 'node:http2'
import type { FastifyRequest } from 'fastify'
import { type Caller, normalizeCaller } from '../caller/caller.ts'
import type { Limiter, ResolvedCaller } from '../limiter/limiter.ts'
import { attributesOf, type Identified } from '../policy/bound-key.ts'
import type { Identify, Identity } from './allowance.ts'
import type { IdentitySpelling } from './identity-spelling.ts'
import { RequestOrigin } from './request-origin.ts'

/** What all requests of one plugin share to find their callers. */
export interface CallerServices {
  readonly limiter: Limiter
  readonly identify: Identify | undefined
  readonly identitySpelling: IdentitySpelling
}

/** Where a connection notes who has its address. Of two limiters, one finds its own there. */
const callerOfConnection = Symbol('fastify-allowance.caller')

interface Connection {
  [callerOfConnection]?: ResolvedCaller
}

/** Who a request is from. */
export class RequestCaller {
  readonly #services: CallerServices
  readonly #request: FastifyRequest
  readonly origin: RequestOrigin
  #finding: Promise<Identified> | undefined
  #found: Identified | undefined
  #resolved: ResolvedCaller | undefined

  constructor(services: CallerServices, request: FastifyRequest) {
    this.#services = services
    this.#request = request
    this.origin = new RequestOrigin(request, services.limiter.policy.trustedProxies)
  }

  /**
   * Finds out who it is, once (RATE-001): what `identify` says, or else the client address.
   * @throws what `identify` throws, or an Error that does not show it when it is none; ClientGoneError; TypeError when `identify`
   * returns something else than an identity.
   */
  find(): Identified | Promise<Identified> {
    const known = this.#found ?? this.#finding
    if (known !== undefined) return known
    const identity = this.#ask()
    if (!isPromiseLike(identity)) return this.#identified(identity)
    this.#finding = Promise.resolve(identity).then((value) => this.#identified(value), throwAsError)
    return this.#finding
  }

  /** The same, resolved. */
  resolve(): ResolvedCaller | Promise<ResolvedCaller> {
    const found = this.find()
    return found instanceof Promise ? found.then(() => this.resolved!) : this.resolved!
  }

  /** undefined until it is found. Resolved when it is first asked for: a single spend is made without. */
  get resolved(): ResolvedCaller | undefined {
    if (this.#found === undefined) return undefined
    const { caller, attributes } = this.#found
    this.#resolved ??= this.#services.limiter.resolveAt(caller, attributes, this.origin)
    return this.#resolved
  }

  #ask(): ReturnType<Identify> {
    try {
      return this.#services.identify?.(this.#request)
    } catch (error) {
      return throwAsError(error)
    }
  }

  /** Whoever has the client address (RATE-003). @throws ClientGoneError */
  #addressed(): Caller {
    const { limiter } = this.#services
    // What proxies say may be something else in each request; the address of the connection is the same.
    const connection = limiter.policy.trustedProxies.isEmpty ? connectionOf(this.#request.raw) : undefined
    const known = connection?.[callerOfConnection]
    if (known !== undefined) return known
    const caller = limiter.resolve({ type: 'ip', address: this.origin.chargedAddress })
    if (connection !== undefined) connection[callerOfConnection] = caller
    return caller
  }

  #identified(identity: Identity): Identified {
    const isKnown = identity != null && !(identity.type === 'jwt' && identity.sub === undefined)
    const addressed = isKnown ? undefined : this.#addressed()
    try {
      // The app may change later what it has returned.
      this.#found = { caller: addressed ?? normalizeCaller(identity), attributes: attributesOf(identity) }
    } catch (error) {
      // Says nothing of the values, and neither may this.
      throw error instanceof TypeError ? new TypeError(`identify returned no identity: ${error.message}`) : error
    }
    if (identity != null) this.#services.identitySpelling.check(identity, this.#request.log)
    return this.#found
  }
}

/** undefined: it is gone. */
function connectionOf(raw: FastifyRequest['raw']): Connection | undefined {
  return 'stream' in raw
    ? ((raw as unknown as Http2ServerRequest).stream.session as Connection | undefined)
    : ((raw.socket as Connection | null) ?? undefined)
}

/** Fastify would show a client what was thrown, and a log the cause of an error: it may be a credential. */
function throwAsError(thrown: unknown): never {
  throw thrown instanceof Error ? thrown : new Error('identify threw what is no Error')
}

function isPromiseLike<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as Partial<PromiseLike<T>> | null | undefined)?.then === 'function'
}
