import type { FastifyRequest } from 'fastify'
import { normalizeCaller } from '../caller/caller.ts'
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

  #identified(identity: Identity): Identified {
    const isKnown = identity != null && !(identity.type === 'jwt' && identity.sub === undefined)
    const addressed = isKnown ? undefined : this.origin.addressCaller
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

/** Fastify would show a client what was thrown, and a log the cause of an error: it may be a credential. */
function throwAsError(thrown: unknown): never {
  throw thrown instanceof Error ? thrown : new Error('identify threw what is no Error')
}

function isPromiseLike<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as Partial<PromiseLike<T>> | null | undefined)?.then === 'function'
}
