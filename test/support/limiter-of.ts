import { type Clock, createLimiter, type ManualClock, manualClock } from '../../src/index.ts'
import type { Limit } from './earned-back-model.ts'

export const second = 1_000_000_000n
export const millisecond = 1_000_000n

/** Limits in the spelling of the issue: `10/60, 100/3600` is 10 per 60 s and 100 per 3600 s. */
export const limitsOf = (spelled: string): Limit[] =>
  spelled.split(', ').map((limit) => {
    const [count, windowSeconds] = limit.split('/')
    return { count: Number(count), windowSeconds: Number(windowSeconds) }
  })

/** The same clock, which can also be read without a bigint. */
export const withReadInto = <T extends Clock>(clock: T): T => ({
  ...clock,
  readInto(instant) {
    const now = clock.now()
    instant.seconds = Number(now / second)
    instant.nanos = Number(now % second)
    if (instant.nanos < 0) {
      instant.seconds -= 1
      instant.nanos += 1_000_000_000
    }
  },
})

/** A limiter with the one category `work`, the smallest table, and a clock of its own. */
export const limiterOf = (
  limits: string | readonly Limit[],
  startNs = 0n,
  clock: ManualClock = manualClock(startNs),
) => {
  const work = typeof limits === 'string' ? limitsOf(limits) : [...limits]
  const limiter = createLimiter({ rateLimits: { maxMemoryMib: 1, categories: { work: { default: work } } }, clock })
  return { clock, limiter, limits: work }
}

export const apiKey = (name: string) => ({ type: 'api_key', name }) as const
export const jwt = (iss: string | undefined, sub: string) =>
  iss === undefined ? ({ type: 'jwt', sub } as const) : ({ type: 'jwt', iss, sub } as const)
export const address = (of: string) => ({ type: 'ip', address: of }) as const
