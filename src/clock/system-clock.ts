import type { Instant } from '../limit/instant.ts'
import { NANOS_PER_SECOND } from '../limit/instant.ts'
import type { Clock } from './clock.ts'

/** The longest delay that Node's timers take; a longer one would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

/**
 * The process's monotonic clock: nanoseconds since the process started, whatever happens to the wall clock. Its timers
 * never run before they are due and do not keep the process alive.
 */
export const systemClock: Clock = {
  now() {
    const instant = { seconds: 0, nanos: 0 }
    readInto(instant)
    return BigInt(instant.seconds) * BigInt(NANOS_PER_SECOND) + BigInt(instant.nanos)
  },

  wall() {
    return Date.now()
  },

  schedule(at, run) {
    let timer: NodeJS.Timeout
    const arm = () => {
      const waitMs = (at - systemClock.now() + 999_999n) / 1_000_000n
      timer = setTimeout(wake, waitMs > MAX_TIMER_MS ? MAX_TIMER_MS : Math.max(0, Number(waitMs)))
      timer.unref()
    }
    // Node's timers may fire up to a millisecond early, and long waits are cut into pieces.
    const wake = () => (systemClock.now() < at ? arm() : run())
    arm()
    return () => clearTimeout(timer)
  },

  readInto,
}

/** `performance.now()` is the one monotonic reading of Node that returns a plain number. */
function readInto(instant: Instant): void {
  const ms = performance.now()
  const wholeMs = Math.floor(ms)
  const seconds = Math.floor(wholeMs / 1000)
  instant.seconds = seconds
  instant.nanos = (wholeMs - seconds * 1000) * 1_000_000 + Math.floor((ms - wholeMs) * 1_000_000)
}
