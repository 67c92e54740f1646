import type { Interceptor, StreamRequest, StreamResponse, UnaryRequest } from '@connectrpc/connect'
import { aFunction, checkOptions } from './check-options.ts'
import { clientClock } from './clock.ts'
import { HeldMethods } from './held-methods.ts'
import { Patience } from './patience.ts'
import { heldBackError, rejectionOf } from './rejection.ts'
import { type RetryOptions, retryRules, type Wait } from './retry-options.ts'
import { copyOf, timeoutOf } from './timeout.ts'

type Request = UnaryRequest | StreamRequest

/** Options of `rateLimitInterceptor`. All are checked when it is made. */
export interface RateLimitInterceptorOptions extends RetryOptions {
  /**
   * Whether the other calls of a method hold back while a retry delay of that method runs, streams that are opened among
   * them. A call cannot know what it will be charged: `true` takes each to be charged in every category in which the method
   * was denied; a function says so for a call and a category. A call that has no time to hold back so long fails at once
   * with a rejection that says how long the delay still runs, and is not sent. Methods are told apart by their URL; callers
   * are not, so give each caller an interceptor of its own. Default false.
   */
  readonly holdBack?: boolean | ((request: Request, category: string) => boolean) | undefined

  /** Called when a call begins to wait, to show it. What it throws, the call fails with. Default: none. */
  readonly onWait?: ((wait: Wait, request: Request) => void) | undefined
}

/**
 * An interceptor for the transports of Connect, in browsers and Node, that waits out rate-limit rejections (RATE-041).
 *
 * A unary call that is rejected is sent again as it was, no earlier than the rejection's delay, and at most `maxTries`
 * times. When it has no tries or no time left, the rejection is handed on at once: `retryDelayOf(error)` reads its delay.
 * An AbortSignal or a deadline, which is for the whole call, ends the wait with the error that Connect reports for it.
 * Streams, of whatever direction, are never sent again: see `reopening`.
 *
 * The first interceptor of a transport is the outermost: what stands before this one sees a call once, what stands after
 * it sees each try, and writes on headers of that try alone.
 *
 * @throws TypeError when an option is wrong.
 */
export function rateLimitInterceptor(options: RateLimitInterceptorOptions): Interceptor {
  checkOptions(options, {
    ...retryRules,
    holdBack: ['true, false or a function', (value) => typeof value === 'boolean' || aFunction[1](value)],
    onWait: aFunction,
  })
  const { domain, holdBack, onWait, clock = clientClock } = options
  const held = new HeldMethods()

  const note = (error: unknown, { url }: Request): void => {
    const rejection = holdBack && rejectionOf(error, domain)
    if (rejection) held.hold(url, rejection, clock.now())
  }

  const holdingBack = async (request: Request, patience: Patience): Promise<void> => {
    const applies = (category: string) => typeof holdBack !== 'function' || holdBack(request, category)
    // Again and again: another rejection may have made it longer in the meantime.
    for (;;) {
      const hold = held.longest(request.url, clock.now(), applies)
      if (hold === undefined) return
      if (!(await patience.wait(hold.until, hold.rejection))) {
        throw heldBackError(hold.rejection, hold.until - clock.now())
      }
    }
  }

  return (next) => async (request) => {
    const timeout = timeoutOf(request.header)
    const deadline = clock.now() + (timeout?.ms ?? Infinity)
    const patience = new Patience(options, request.signal, deadline, (wait) => onWait?.(wait, request))
    for (;;) {
      if (holdBack) await holdingBack(request, patience)
      try {
        const response = await next(copyOf(request, timeout, deadline - clock.now()))
        return response.stream && holdBack ? watched(response, (error) => note(error, request)) : response
      } catch (error) {
        note(error, request)
        if (request.stream) throw error
        await patience.afterFailure(error)
      }
    }
  }
}

/** The same response, which tells how its stream fails. */
function watched(response: StreamResponse, onError: (error: unknown) => void): StreamResponse {
  async function* messages() {
    try {
      yield* response.message
    } catch (error) {
      onError(error)
      throw error
    }
  }
  return { ...response, message: messages() }
}
