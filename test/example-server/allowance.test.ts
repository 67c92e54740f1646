import t from 'tap'
import { demo } from '../../example-server/demo.ts'
import { createLimiter } from '../../src/index.ts'
import { answer, CATEGORIES, clientsOf, DEMO_KEY, LOOPBACK, left, limits, SERVICE, start, token } from './harness.ts'

t.test('RATE-011: GetAllowance says who is charged and what is left, and charges nothing', async (t) => {
  const { urls, limiter, logged } = await start(t, { request: 60, stream_rent: 3 })
  const alice = { type: 'jwt', iss: demo.iss, sub: 'alice' } as const
  for (const [headers, caller, words] of [
    [{}, LOOPBACK, 'address 127.0.0.1'],
    [{ 'x-api-key': demo.apiKey }, DEMO_KEY, 'API key "demo"'],
    [{ authorization: `Bearer ${await token({ sub: 'alice' })}` }, alice, `user "alice" of ${demo.iss}`],
  ] as const) {
    limiter.spend(caller, 'request', 6)
    limiter.spend(caller, 'stream_rent', 3)
    const before = left(limiter, caller)
    for (const { name, backend } of clientsOf(urls, headers)) {
      const { caller: who, authType, categories } = await backend.getAllowance({})
      t.equal(who, words, name)
      t.equal(authType, caller.type)
      t.same(
        categories.map(({ category }) => category),
        CATEGORIES,
      )
      const limitsOf = (name: string) => categories.find(({ category }) => category === name)?.limits
      t.match(limitsOf('request'), [{ count: 60n, windowSeconds: 60n, remaining: 54n, fullInMs: 6000n }])
      t.match(limitsOf('stream_rent'), [{ count: 3n, windowSeconds: 60n, remaining: 0n, fullInMs: 60_000n }])
      t.match(limitsOf('upload'), [
        { count: 120n, windowSeconds: 60n, remaining: 120n, fullInMs: 0n },
        { count: 2000n, windowSeconds: 3600n, remaining: 2000n },
      ])
    }
    t.same(left(limiter, caller), before)
  }
  t.notMatch(logged.join(''), /127\.0\.0\.1|alice|"demo"/, 'the log names nobody')
})

t.test('GetAllowance answers who has nothing left, and refuses credentials that are no good', async (t) => {
  const { urls, limiter } = await start(t, { request: 1 })
  for (const { name, backend } of clientsOf(urls)) {
    limiter.spend(LOOPBACK, 'request', 1)
    t.match(await backend.getAllowance({}), { categories: { 0: { limits: [{ remaining: 0n }] } } }, name)
  }
  for (const { name, backend } of clientsOf(urls, { 'x-api-key': 'nonsense' })) {
    t.equal(await answer(backend.getAllowance({})), 'unauthenticated', name)
  }
  const response = await fetch(`${urls.http}/${SERVICE}/GetAllowance`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer nonsense' },
    body: '{}',
  })
  t.equal(response.status, 401)
})

t.test('GetAllowance shows an IPv6 caller its network, and no limits where everything is admitted', async (t) => {
  const limiter = createLimiter({ rateLimits: { ...limits({}), enabled: false, trustedProxies: ['127.0.0.1'] } })
  const { urls } = await start(t, {}, { limiter })
  const [{ backend }] = clientsOf(urls, { 'x-forwarded-for': '2001:db8::1' }) as [ReturnType<typeof clientsOf>[0]]
  const { caller, categories } = await backend.getAllowance({})
  t.equal(caller, 'address 2001:db8::/64')
  t.ok(categories.every(({ limits }) => limits.length === 0))
})
