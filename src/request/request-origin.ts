import type { FastifyRequest } from 'fastify'
import { fullForm } from '../caller/address.ts'
import { requestAddress } from '../caller/request-address.ts'
import type { TrustedProxies } from '../caller/trusted-proxies.ts'
import type { Origin } from '../policy/bound-key.ts'

/** The key of a route's `config` under which it is named for bounds per route. Without it: by its methods and path. */
export const routeName = Symbol('fastify-allowance.routeName')

/** The client has gone before it was known who it is, so that there is nobody to charge and nobody to answer. */
export class ClientGoneError extends Error {
  override readonly name = 'ClientGoneError'
}

/** Where a request comes from. Each is worked out when it is asked for. Fastify's own `trustProxy` has no say. */
export class RequestOrigin implements Origin {
  readonly request: FastifyRequest
  readonly #trustedProxies: TrustedProxies
  #address: string | undefined

  constructor(request: FastifyRequest, trustedProxies: TrustedProxies) {
    this.request = request
    this.#trustedProxies = trustedProxies
  }

  /** The full client address (RATE-002). @throws ClientGoneError */
  get address(): string {
    this.#address ??= this.#addressIn(fullForm)
    return this.#address
  }

  /** The client address as it is charged (RATE-003). @throws ClientGoneError */
  get chargedAddress(): string {
    return this.#addressIn(undefined)
  }

  get route(): string {
    if (this.request.is404) return 'none'
    const { config, method, url } = this.request.routeOptions
    return (config as { [routeName]?: string })[routeName] ?? `${method} ${url}`
  }

  #addressIn(form: typeof fullForm | undefined): string {
    const { raw, server } = this.request
    const address = requestAddress(raw, server.server, this.#trustedProxies, form)
    if (address === undefined) throw new ClientGoneError()
    return address
  }
}
