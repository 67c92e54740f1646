import { apiKey, limiterOf, second } from './limiter-of.ts'

/** When it happens (`8.571 s`), what is spent, and what comes of it. */
export type Scene = readonly [at: string, cost: number, comesOfIt: 'admitted' | `denied ${number} ms`]

interface Assertions {
  equal(found: unknown, wanted: unknown, message: string): unknown
  same(found: unknown, wanted: unknown, message: string): unknown
}

const nsOf = (at: string): bigint => {
  const [whole = '0', fraction = ''] = at.replace(' s', '').replaceAll('_', '').split('.')
  return BigInt(whole) * second + BigInt(fraction.padEnd(9, '0'))
}

/**
 * Plays one caller's story on a fresh limiter. Before each scene `retryDelay` must foretell what comes of it; after a denial
 * everything that remains must be as before it.
 */
export const story = (t: Assertions, limits: string, scenes: readonly Scene[]): void => {
  const { clock, limiter } = limiterOf(limits)
  const caller = limiter.resolve(apiKey('one caller'))
  for (const [index, [at, cost, wanted]] of scenes.entries()) {
    const scene = `${limits}, scene ${index + 1}: ${cost} at ${at}`
    clock.advance(nsOf(at) - clock.now())
    const delay = limiter.retryDelay(caller, 'work', cost)
    const before = limiter.remaining(caller, 'work')
    const result = limiter.spend(caller, 'work', cost)
    t.equal(result.admitted ? 'admitted' : `denied ${result.denial.retryDelayMs} ms`, wanted, scene)
    t.equal(delay, result.admitted ? 0 : result.denial.retryDelayMs, `${scene}: retryDelay agrees`)
    if (!result.admitted) t.same(limiter.remaining(caller, 'work'), before, `${scene}: charges nothing`)
  }
}
