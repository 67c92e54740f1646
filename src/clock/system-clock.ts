import type { Instant } from '../limit/instant.ts'
import type { Clock } from './clock.ts'

const { hrtime } = process

/** The longest delay that Node's timers take; a longer one would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

/**
 * The monotonic clock of the machine, in nanoseconds since some moment before the process started, whatever happens to the wall clock. Its timers
 * never run before they are due and do not keep the process alive.
 */
export const systemClock: Clock = {
  now() {
    return hrtime.bigint()
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

/** Of Node's monotonic readings this is the one of whole numbers; the array is never made where V8 compiles this into its caller. */
function readInto(instant: Instant): void {
  const time = hrtime()
  instant.seconds = time[0]
  instant.nanos = time[1]
}
