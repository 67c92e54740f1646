import t from 'tap'
import { createLimiter, manualClock } from '../../src/index.ts'
import { apiKey } from '../support/limiter-of.ts'

t.test('RATE-051: of those who are idle at the same moment, who has spent least is forgotten first', async (t) => {
  for (const first of [true, false]) {
    const limits = [
      { kind: 'earned_back', count: 20, windowSeconds: 60 },
      { kind: 'sliding_window', count: 1000, windowSeconds: 86_400 },
    ] as const
    const limiter = createLimiter({
      bounds: [{ name: 'sender', per: 'caller', limits, maxKeys: 100 }],
      rateLimits: { categories: { request: { default: [] } } },
      clock: manualClock(),
    })
    const spend = (name: string, cost: number) => limiter.spend(apiKey(name), 'request', cost).admitted
    if (first) t.ok(spend('heavy', 20))
    for (let i = 0; i < 99; i++) t.ok(spend(`known ${i}`, 1))
    if (!first) t.ok(spend('heavy', 20))
    for (let i = 0; i < 1000; i++) t.ok(spend(`fresh ${i}`, 1))
    t.notOk(spend('heavy', 1), `whom a thousand names do not free, ${first ? 'first' : 'last'} to come`)
    t.equal(limiter.stats().forgotten, 1000)
  }
})
