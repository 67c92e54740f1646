import type { Clock } from '../../src/index.ts'
import { bounds } from './bounds.ts'
import { isUnder } from './events.ts'

interface Waiting {
  subject: string
  recursive: boolean
  wake: () => void
}

/** Who waits for events. Nothing is kept for them: who is woken reads what is new from the store. */
export class Observers {
  readonly #clock: Clock
  readonly #waiting = new Set<Waiting>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** How many wait now. */
  get size(): number {
    return this.#waiting.size
  }

  /** Wakes those who wait for one of these subjects. */
  notify(subjects: Iterable<string>): void {
    const written = new Set(subjects)
    for (const { subject, recursive, wake } of this.#waiting) {
      for (const one of written) {
        if (isUnder(one, subject, recursive)) {
          wake()
          break
        }
      }
    }
  }

  /** Wakes everybody. */
  notifyAll(): void {
    for (const { wake } of this.#waiting) wake()
  }

  /** Resolves to true when there may be new events, to false when it is time for a sign of life, or on `signal`. */
  wait(subject: string, recursive: boolean, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return Promise.resolve(false)
    return new Promise((resolve) => {
      const done = (written: boolean) => {
        this.#waiting.delete(waiting)
        cancel()
        signal.removeEventListener('abort', abort)
        resolve(written)
      }
      const abort = () => done(false)
      const waiting = { subject, recursive, wake: () => done(true) }
      const cancel = this.#clock.schedule(this.#clock.now() + BigInt(bounds.heartbeatSeconds) * 1_000_000_000n, () =>
        done(false),
      )
      signal.addEventListener('abort', abort, { once: true })
      this.#waiting.add(waiting)
    })
  }
}
