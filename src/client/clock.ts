import { Code, ConnectError } from '@connectrpc/connect'

/** Where the time of a client comes from. */
export interface ClientClock {
  /** Milliseconds since an arbitrary zero of the clock's own. Must not go back, whatever happens to the time of day. */
  now(): number
  /** Runs `run` once after `ms` milliseconds, 1 … 2³¹ − 1. Returns a function that cancels it. */
  schedule(ms: number, run: () => void): () => void
}

/** What `setTimeout` can wait at most: with more than this it fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

export const clientClock: ClientClock = {
  now: () => performance.now(),
  schedule(ms, run) {
    const timer = setTimeout(run, ms)
    return () => clearTimeout(timer)
  },
}

/**
 * Resolves when the clock has reached `at`, never before. Rejects when `signal` is aborted, with the error that Connect
 * itself reports then. Leaves no timer and no listener either way.
 */
export function waitUntil(at: number, clock: ClientClock, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    let cancel = () => {}
    const onAbort = () => {
      cancel()
      reject(ConnectError.from(signal.reason, Code.Canceled))
    }
    const check = () => {
      const left = at - clock.now()
      if (left > 0) {
        // Rounded up, so that a timer which fires within the last millisecond is not followed by a run of empty ones.
        cancel = clock.schedule(Math.min(Math.ceil(left), MAX_TIMER_MS), check)
      } else {
        signal.removeEventListener('abort', onAbort)
        resolve()
      }
    }
    if (signal.aborted) return onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    check()
  })
}
