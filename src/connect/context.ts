import {
  Code,
  ConnectError,
  type ContextKey,
  type ContextValues,
  createContextKey,
  createContextValues,
  type HandlerContext,
} from '@connectrpc/connect'
import type { FastifyRequest } from 'fastify'
import type { Allowance } from '../request/allowance.ts'
import type { HandlerAllowance } from './handler-allowance.ts'

/** Where a Connect handler's context carries the allowance of its request. */
export const allowanceKey = createContextKey<HandlerAllowance | undefined>(undefined, {
  description: 'fastify-allowance',
})

/**
 * The allowance of the request that a Connect handler serves. It spends only categories that the RPC declares
 * `by_handler`, in its .proto or in the option `charges`: another is an Error, and charges nothing (RATE-011).
 * @throws ConnectError `internal`, when the service is not registered through `app.allowance.connect()`.
 */
export function allowanceOf(context: Pick<HandlerContext, 'method' | 'values'>): Allowance {
  const allowance = context.values.get(allowanceKey)
  if (allowance === undefined) {
    // Of another error Connect would tell neither the client nor a log.
    const message = 'no allowance in this context: register the service through app.allowance.connect({ routes })'
    throw new ConnectError(message, Code.Internal)
  }
  return allowance.of(context.method)
}

/**
 * The context values that the app gives a handler, and the allowance. The app's own are not written to: they may be
 * shared by all requests. The allowance is made when it is first asked for, which most handlers never do.
 */
export class ValuesWithAllowance implements ContextValues {
  #own: ContextValues | undefined
  #allowance: HandlerAllowance | undefined
  readonly #request: FastifyRequest
  readonly #allowanceOf: (request: FastifyRequest) => HandlerAllowance

  constructor(
    own: ContextValues | undefined,
    request: FastifyRequest,
    allowanceOf: (request: FastifyRequest) => HandlerAllowance,
  ) {
    this.#own = own
    this.#request = request
    this.#allowanceOf = allowanceOf
  }

  get<T>(key: ContextKey<T>): T {
    if (key.id !== allowanceKey.id) return this.#values.get(key)
    this.#allowance ??= this.#allowanceOf(this.#request)
    return this.#allowance as T
  }

  set<T>(key: ContextKey<T>, value: T): this {
    this.#values.set(key, value)
    return this
  }

  delete(key: ContextKey<unknown>): this {
    this.#values.delete(key)
    return this
  }

  get #values(): ContextValues {
    this.#own ??= createContextValues()
    return this.#own
  }
}
