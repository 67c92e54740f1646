import { RateLimiterMemory } from 'rate-limiter-flexible'
import { day } from './limits.ts'
import { type Named, namesOf, type Subject } from './subject.ts'

/** `consume()` of rate-limiter-flexible's limiter in memory, awaited, as its README does. */
export function rateLimiterFlexible(named: Named): Subject {
  const limiter = new RateLimiterMemory({ points: day.count, duration: day.windowSeconds })
  return {
    async fill(from, to) {
      for (let i = from; i < to; i++) await limiter.consume(named(i))
    },
    prepare(visits) {
      const keys = namesOf(visits, named)
      return async (from, to) => {
        for (let i = from; i < to; i++) await limiter.consume(keys[i]!)
      }
    },
  }
}
