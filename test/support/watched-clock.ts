import { type ManualClock, manualClock } from '../../src/index.ts'

/** A manual clock that tells when something is scheduled on it, and when all of it has run or been cancelled. */
export interface WatchedClock extends ManualClock {
  /** Resolves when at least one run is waiting. */
  busy(): Promise<void>
  /** Resolves when none is waiting. */
  idle(): Promise<void>
}

export const watchedClock = (): WatchedClock => {
  const clock = manualClock()
  const waiting: { until: () => boolean; resolve: () => void }[] = []
  const look = () => {
    for (const one of waiting.splice(0)) {
      if (one.until()) one.resolve()
      else waiting.push(one)
    }
  }
  const when = (until: () => boolean) =>
    new Promise<void>((resolve) => {
      waiting.push({ until, resolve })
      look()
    })
  return {
    now: clock.now,
    wall: clock.wall,
    schedule(at, run) {
      const cancel = clock.schedule(at, run)
      look()
      return () => {
        cancel()
        look()
      }
    },
    advance(ns) {
      clock.advance(ns)
      look()
    },
    get scheduled() {
      return clock.scheduled
    },
    busy: () => when(() => clock.scheduled > 0),
    idle: () => when(() => clock.scheduled === 0),
  }
}
