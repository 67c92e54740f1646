import {
  Code,
  ConnectError,
  type ContextValues,
  createContextKey,
  createContextValues,
  type HandlerContext,
} from '@connectrpc/connect'
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
 * shared by all requests.
 */
export function withAllowance(values: ContextValues | undefined, allowance: HandlerAllowance): ContextValues {
  const own = values ?? createContextValues()
  return {
    get: (key) => (key.id === allowanceKey.id ? (allowance as never) : own.get(key)),
    set(key, value) {
      own.set(key, value)
      return this
    },
    delete(key) {
      own.delete(key)
      return this
    },
  }
}
