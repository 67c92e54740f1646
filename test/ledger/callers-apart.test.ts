import t from 'tap'
import { address, apiKey, jwt, limiterOf } from '../support/limiter-of.ts'

t.test('case 5, RATE-001: callers that are spelled alike do not share a charge', async (t) => {
  const { limiter } = limiterOf('1/60')
  const callers = [
    apiKey('203.0.113.9'),
    address('203.0.113.9'),
    jwt('a', 'b:c'),
    jwt('a:b', 'c'),
    jwt('', 'a'),
    jwt('a', ''),
    jwt('ab', 'c'),
    jwt('a', 'bc'),
    jwt('a\0b', 'c'),
    jwt('a', 'b\0c'),
    jwt('203.0.113.9', ''),
    jwt('', '203.0.113.9'),
    apiKey('__proto__'),
    apiKey('constructor'),
    apiKey('toString'),
    apiKey('a'),
    apiKey('A'),
    apiKey('a '),
    apiKey('a\0'),
    apiKey(''),
    apiKey('\u00e9'),
    apiKey('e\u0301'),
    apiKey('\ufffd'),
    apiKey('\ud800'),
    apiKey('\ud801'),
    apiKey('\udfff'),
    apiKey('\ud800\udc00'),
    apiKey('\udc00\ud800'),
    jwt('\ud800', '\udc00'),
    jwt('\ud800\udc00', ''),
    jwt('\ufffd', '\ufffd'),
    apiKey('k'.repeat(100_000)),
    apiKey('k'.repeat(100_001)),
    apiKey(`${'k'.repeat(100_000)}x`),
    apiKey(`${'k'.repeat(100_000)}y`),
  ]
  for (const caller of callers) {
    const name = JSON.stringify(caller).slice(0, 80)
    t.equal(limiter.spend(caller, 'work', 1).admitted, true, `${name} is admitted once`)
    t.equal(limiter.spend(caller, 'work', 1).admitted, false, `${name} is denied then`)
  }
  for (const caller of callers) t.equal(limiter.retryDelay(caller, 'work', 1), 60_000)
  t.equal(limiter.stats().forgotten, 0)
})

t.test('case 5, RATE-001: no issuer and the empty issuer are one caller', async (t) => {
  for (const [first, second] of [
    [jwt(undefined, 'user'), jwt('', 'user')],
    [jwt('', 'user'), jwt(undefined, 'user')],
  ] as const) {
    const { limiter } = limiterOf('1/60')
    t.equal(limiter.spend(first, 'work', 1).admitted, true)
    t.equal(limiter.spend(second, 'work', 1).admitted, false)
  }
})

t.test('a resolved caller is the caller that it was resolved from', async (t) => {
  const { limiter } = limiterOf('2/60')
  for (const caller of [apiKey('one'), jwt('issuer', 'user'), jwt(undefined, 'user'), address('203.0.113.9')]) {
    const resolved = limiter.resolve(caller)
    t.equal(limiter.spend(resolved, 'work', 1).admitted, true)
    t.equal(limiter.spend(caller, 'work', 1).admitted, true)
    t.match(limiter.spend(resolved, 'work', 1), { admitted: false, denial: { retryDelayMs: 30_000 } })
    t.equal(limiter.retryDelay(limiter.resolve(caller), 'work', 1), 30_000, 'resolved once more')
    t.equal(limiter.retryDelay(limiter.resolve(resolved), 'work', 1), 30_000, 'resolved from a resolved one')
    t.same(limiter.remaining(resolved, 'work'), limiter.remaining(caller, 'work'))
  }
})

t.test('a caller that another limiter resolved has the limits and the allowance of this one', async (t) => {
  const { limiter } = limiterOf('2/60')
  const { limiter: other } = limiterOf('1/60')
  const resolved = other.resolve(apiKey('one'))
  t.equal(other.spend(resolved, 'work', 1).admitted, true)
  t.equal(limiter.spend(resolved, 'work', 2).admitted, true)
  t.match(limiter.spend(apiKey('one'), 'work', 1), { admitted: false, denial: { retryDelayMs: 30_000 } })
  t.equal(other.retryDelay(apiKey('one'), 'work', 1), 60_000)
})

t.test('resolving charges nothing and takes no room', async (t) => {
  const { limiter } = limiterOf('1/60')
  for (let i = 0; i < 50_000; i++) limiter.resolve(apiKey(`caller ${i}`))
  for (let i = 0; i < 100; i++) t.equal(limiter.spend(apiKey(`caller ${i}`), 'work', 1).admitted, true)
  t.equal(limiter.stats().forgotten, 0)
})
