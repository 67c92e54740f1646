import { setImmediate } from 'node:timers/promises'
import type { ClientClock } from '../../src/client/index.ts'

/** A client's clock that only moves when it is told to. */
export interface ManualClientClock extends ClientClock {
  /** Moves by `ms` and runs, in order, what falls due. */
  advance(ms: number): void
  /** The milliseconds of each timer that is set. */
  readonly timers: readonly number[]
  /** Resolves once `count` timers are set. */
  waiting(count?: number): Promise<void>
}

export function manualClientClock(start = 0.25): ManualClientClock {
  let now = start
  let set: { at: number; ms: number; run: () => void }[] = []
  return {
    now: () => now,
    schedule(ms, run) {
      const timer = { at: now + ms, ms, run }
      set.push(timer)
      return () => {
        set = set.filter((other) => other !== timer)
      }
    },
    advance(ms) {
      const target = now + ms
      for (;;) {
        const due = set.filter(({ at }) => at <= target).sort((one, other) => one.at - other.at)[0]
        if (due === undefined) break
        set = set.filter((other) => other !== due)
        now = due.at
        due.run()
      }
      now = target
    },
    get timers() {
      return set.map(({ ms }) => ms)
    },
    async waiting(count = 1) {
      while (set.length < count) await setImmediate()
    },
  }
}

/** Lets everything happen that waits for nothing but its turn. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await setImmediate()
}
