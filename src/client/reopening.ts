import { Code, ConnectError } from '@connectrpc/connect'
import { aFunction, checkOptions, show } from './check-options.ts'
import { Patience } from './patience.ts'
import { type RetryOptions, retryRules, type Wait } from './retry-options.ts'

/** Options of `reopening`. All are checked when it is called. */
export interface ReopeningOptions extends RetryOptions {
  /** Ends the stream, or the wait for its reopening, as canceled. */
  readonly signal?: AbortSignal | undefined

  /** Called when the wait for a reopening begins, to show it. What it throws, the stream fails with. Default: none. */
  readonly onWait?: ((wait: Wait) => void) | undefined
}

/**
 * A stream that is opened again after a rate-limit rejection, no earlier than the rejection's delay (RATE-041), from
 * wherever the app has got to: nothing is replayed, `open` is called again and starts from the app's own cursors.
 *
 * ```ts
 * const messages = reopening((signal) => client.subscribe({ cursors }, { signal }), { domain: 'example.com' })
 * for await (const message of messages) cursors = advance(cursors, message)
 * ```
 *
 * Everything that a stream delivers is delivered. It ends when a stream ends, and fails with any other error, or with the
 * rejection when its delay does not fit in `maxWaitMs` or after `maxTries` openings; each message that arrives lets both
 * start anew. What `open` throws counts as a failure of the stream. Leaving the loop, or `return()`, closes the stream
 * that is open and ends a wait at once.
 *
 * @param open Opens the stream. `signal` is to be passed on to the call: it is how the stream is closed.
 * @throws TypeError when `open` is no function, or an option is wrong.
 */
export function reopening<Message>(
  open: (signal: AbortSignal) => AsyncIterable<Message> | PromiseLike<AsyncIterable<Message>>,
  options: ReopeningOptions,
): AsyncIterableIterator<Message> {
  checkOptions(options, {
    ...retryRules,
    signal: ['an AbortSignal', (value) => value instanceof AbortSignal],
    onWait: aFunction,
  })
  if (!aFunction[1](open)) {
    throw new TypeError(`open: must be a function, such as (signal) => client.watch({}, { signal }), got ${show(open)}`)
  }
  const { signal: outer, onWait } = options
  const closing = new AbortController()
  const { signal } = closing
  const abort = () => closing.abort(outer?.reason)
  let left = false

  async function* run(): AsyncGenerator<Message, undefined, undefined> {
    const patience = new Patience(options, signal, Infinity, (wait) => onWait?.(wait))
    outer?.addEventListener('abort', abort)
    if (outer?.aborted) abort()
    try {
      for (;;) {
        try {
          if (signal.aborted) throw ConnectError.from(signal.reason, Code.Canceled)
          for await (const message of await open(signal)) {
            patience.renew()
            yield message
          }
          return
        } catch (error) {
          await patience.afterFailure(error)
        }
      }
    } catch (error) {
      if (!left) throw error
      return
    } finally {
      outer?.removeEventListener('abort', abort)
    }
  }

  const running = run()
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    next: () => running.next(),
    return() {
      left = true
      // What is under way, a stream's next message or a wait, ends by this; the generator's return() alone waits for it.
      closing.abort()
      return running.return(undefined)
    },
  }
}
