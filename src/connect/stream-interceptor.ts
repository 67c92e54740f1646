import type { Interceptor } from '@connectrpc/connect'
import { allowanceKey } from './context.ts'
import type { HandlerAllowance } from './handler-allowance.ts'
import { ResponseGuard } from './response-guard.ts'
import { isDeadline } from './rpc-stream-host.ts'

type AnyFn = Parameters<Interceptor>[0]

/**
 * Lets the handler of a streaming RPC open a stream that pays rent, whose end is that of the response. The first of all
 * interceptors, so that none can hold back that end.
 */
export const streamInterceptor: Interceptor = (next) => (request) => {
  const allowance = request.stream ? request.contextValues.get(allowanceKey) : undefined
  return allowance === undefined ? next(request) : guarded(next, request, allowance)
}

async function guarded(next: AnyFn, request: Parameters<AnyFn>[0], allowance: HandlerAllowance): ReturnType<AnyFn> {
  const guard = new ResponseGuard()
  // A deadline is no end: a handler without an open stream may go on.
  const { signal } = request
  signal.addEventListener('abort', () => isDeadline(signal.reason) || allowance.responseEnds(), { once: true })
  allowance.serve({
    signal,
    fail(error) {
      guard.fail(error)
      allowance.responseEnds()
    },
  })
  const response = await guard.settle(() => next(request))
  return response.stream ? { ...response, message: guard.messages(response.message) } : response
}
