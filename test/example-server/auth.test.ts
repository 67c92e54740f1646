import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import t from 'tap'
import type { AuthConfig } from '../../example-server/auth/identify.ts'
import { demo } from '../../example-server/demo.ts'
import { type Caller, createLimiter } from '../../src/index.ts'
import { answer, clientsOf, DEMO_KEY, LOOPBACK, left, limits, SERVICE, spent, start, token } from './harness.ts'

const nowSeconds = Math.floor(Date.now() / 1000)
const secret = 'a secret of the issuer without a name, 32 bytes or more'
const otherSecret = 'a secret of another issuer, also of 32 bytes or more'
const es256 = await generateKeyPair('ES256')
const stranger = await generateKeyPair('ES256')
const publicJwk = { ...(await exportJWK(es256.publicKey)), kid: 'k1', alg: 'ES256' }
const auth: AuthConfig = {
  apiKeys: new Map([
    ['demo', demo.apiKey],
    ['203.0.113.9', 'a-key-named-like-an-address'],
    ['__proto__', 'a-key-named-like-a-prototype'],
  ]),
  issuers: [
    { iss: demo.iss, alg: demo.alg, key: { secret: demo.secret } },
    { iss: 'https://other.example', alg: 'HS256', key: { secret: otherSecret }, audience: 'example-server' },
    { iss: 'https://keys.example', alg: 'ES256', key: { jwks: { keys: [publicJwk] } } },
    { iss: '', alg: 'HS256', key: { secret } },
  ],
}
const bearer = (value: string) => ({ authorization: `Bearer ${value}` })
const es = (claims: Record<string, unknown>, key = es256.privateKey) =>
  new SignJWT({ iss: 'https://keys.example', ...claims }).setProtectedHeader({ alg: 'ES256', kid: 'k1' }).sign(key)

t.test('RATE-001: a request is charged to the caller of its credential', async (t) => {
  const { http, limiter } = await start(t, {}, { auth })
  const unnamed = new SignJWT({ sub: 'alice' }).setProtectedHeader({ alg: 'HS256' })
  const unnamedToken = await unnamed.sign(new TextEncoder().encode(secret))
  const alice: Caller = { type: 'jwt', iss: demo.iss, sub: 'alice' }
  const rows: [name: string, headers: Record<string, string>, caller: Caller][] = [
    ['nothing', {}, LOOPBACK],
    ['X-Api-Key', { 'x-api-key': demo.apiKey }, DEMO_KEY],
    ['an API key as bearer', bearer(demo.apiKey), DEMO_KEY],
    ['bearer in small letters', { authorization: `bearer ${demo.apiKey}` }, DEMO_KEY],
    ['the same key twice', { 'x-api-key': demo.apiKey, ...bearer(demo.apiKey) }, DEMO_KEY],
    [
      'a key named like an address',
      { 'x-api-key': 'a-key-named-like-an-address' },
      { type: 'api_key', name: '203.0.113.9' },
    ],
    ['a key named __proto__', { 'x-api-key': 'a-key-named-like-a-prototype' }, { type: 'api_key', name: '__proto__' }],
    ['a token', bearer(await token({ sub: 'alice' })), alice],
    ['a token that expires later', bearer(await token({ sub: 'alice', exp: nowSeconds + 60 })), alice],
    [
      'a token of another issuer with the same sub',
      bearer(
        await token({ iss: 'https://other.example', sub: 'alice', aud: 'example-server' }, { secret: otherSecret }),
      ),
      { type: 'jwt', iss: 'https://other.example', sub: 'alice' },
    ],
    [
      'a token signed by a key of a set',
      bearer(await es({ sub: 'alice' })),
      { type: 'jwt', iss: 'https://keys.example', sub: 'alice' },
    ],
    ['a token without iss', bearer(unnamedToken), { type: 'jwt', sub: 'alice' }],
    [
      'a token with an empty iss',
      bearer(await token({ iss: '', sub: 'alice' }, { secret })),
      { type: 'jwt', iss: '', sub: 'alice' },
    ],
    ['a token without sub', bearer(await token({})), LOOPBACK],
    ['a token with an empty sub', bearer(await token({ sub: '' })), { type: 'jwt', iss: demo.iss, sub: '' }],
  ]
  for (const [name, headers, caller] of rows) {
    const before = left(limiter, caller)
    const others = rows.filter((row) => JSON.stringify(row[2]) !== JSON.stringify(caller))
    const othersBefore = others.map((row) => left(limiter, row[2]))
    const response = await http.inject({
      method: 'POST',
      url: `/${SERVICE}/Query`,
      headers,
      payload: { topics: ['a'] },
    })
    t.equal(response.statusCode, 200, name)
    t.same(spent(before, left(limiter, caller)), { request: 1 }, name)
    // No iss and an empty iss are one caller, spelled in two ways here.
    if (caller.type === 'jwt' && !caller.iss) continue
    t.same(
      others.map((row) => left(limiter, row[2])),
      othersBefore,
      `${name}: nobody else is charged`,
    )
  }
})

t.test('RATE-011, case 9: credentials that are not valid are refused, and nobody is charged', async (t) => {
  const { http, limiter, logged } = await start(t, {}, { auth })
  const victim = { sub: 'alice' }
  const unsecured = `${btoa('{"alg":"none"}')}.${btoa(JSON.stringify({ iss: demo.iss, ...victim }))}.`.replaceAll(
    '=',
    '',
  )
  const publicKeyAsSecret = new TextEncoder().encode(JSON.stringify(publicJwk))
  const rows: [name: string, headers: Record<string, string>][] = [
    ['a key that nobody has', { 'x-api-key': `${demo.apiKey}x` }],
    ['an empty key', { 'x-api-key': '' }],
    ['the name of a key', { 'x-api-key': demo.apiKeyName }],
    ['two keys in one header', { 'x-api-key': `${demo.apiKey}, ${demo.apiKey}` }],
    ['a token as X-Api-Key', { 'x-api-key': await token(victim) }],
    ['an empty Authorization', { authorization: '' }],
    ['a bearer without a value', { authorization: 'Bearer ' }],
    ['another scheme', { authorization: `Basic ${btoa(`demo:${demo.apiKey}`)}` }],
    ['no scheme', { authorization: demo.apiKey }],
    ['no token', bearer('nonsense')],
    ['a token of nonsense', bearer('a.b.c')],
    ['a token without a signature', bearer(unsecured)],
    ['a token with its signature cut off', bearer((await token(victim)).replace(/[^.]+$/, ''))],
    ['a forged token', bearer(await token(victim, { secret: 'x'.repeat(40) }))],
    ['a token of one issuer with the secret of another', bearer(await token(victim, { secret: otherSecret }))],
    ['a token of an issuer that is not known', bearer(await token({ iss: 'https://evil.example', ...victim }))],
    ['an issuer named like a property', bearer(await token({ iss: '__proto__', ...victim }))],
    ['an iss that is no text', bearer(await token({ iss: [demo.iss] as never, ...victim }))],
    ['a sub that is no text', bearer(await token({ sub: 7 as never }))],
    ['a token that has expired', bearer(await token({ ...victim, exp: nowSeconds - 60 }))],
    ['a token that is not yet in force', bearer(await token({ ...victim, nbf: nowSeconds + 600 }))],
    ['another algorithm than the issuer has', bearer(await token(victim, { alg: 'HS512' }))],
    [
      'another audience',
      bearer(await token({ iss: 'https://other.example', ...victim, aud: 'somebody' }, { secret: otherSecret })),
    ],
    ['no audience', bearer(await token({ iss: 'https://other.example', ...victim }, { secret: otherSecret }))],
    [
      'a public key used as a secret',
      bearer(await token({ iss: 'https://keys.example', ...victim }, { secret: publicKeyAsSecret })),
    ],
    ['a key that is not in the set', bearer(await es(victim, stranger.privateKey))],
    ['a key and a token', { 'x-api-key': demo.apiKey, ...bearer(await token(victim)) }],
    ['two keys', { 'x-api-key': demo.apiKey, ...bearer('a-key-named-like-an-address') }],
    ['a key, and a token without sub', { 'x-api-key': demo.apiKey, ...bearer(await token({})) }],
    ['a key, and one that nobody has', { 'x-api-key': demo.apiKey, ...bearer('nonsense-nonsense') }],
  ]
  const callers = [LOOPBACK, DEMO_KEY, { type: 'jwt', iss: demo.iss, sub: 'alice' }] as const
  const before = callers.map((caller) => left(limiter, caller))
  const bodies = new Set<string>()
  for (const [name, headers] of rows) {
    const response = await http.inject({
      method: 'POST',
      url: `/${SERVICE}/Query`,
      headers,
      payload: { topics: ['a'] },
    })
    t.equal(response.statusCode, 401, name)
    bodies.add(response.body)
  }
  t.same([...bodies], ['{"code":"unauthenticated","message":"the credentials of the request are not valid"}'])
  t.same(
    callers.map((caller) => left(limiter, caller)),
    before,
  )
  t.notMatch(logged.join(''), /"level":[456]0/)
})

t.test('case 9: a thousand forged tokens leave the victim and the address their allowance', async (t) => {
  const { http, limiter } = await start(t, { request: 10 })
  const victim: Caller = { type: 'jwt', iss: demo.iss, sub: 'alice' }
  const before = [left(limiter, victim), left(limiter, LOOPBACK)]
  const forged = bearer(await token({ sub: 'alice' }, { secret: 'not the secret of the issuer at all' }))
  for (let i = 0; i < 1000; i++) {
    const response = await http.inject({ method: 'POST', url: `/${SERVICE}/Query`, headers: forged, payload: {} })
    if (response.statusCode !== 401) t.fail(`call ${i}: ${response.statusCode}`)
  }
  t.same([left(limiter, victim), left(limiter, LOOPBACK)], before)
})

t.test('case 14: every client reads unauthenticated in its own protocol', async (t) => {
  const { urls, limiter, store } = await start(t)
  const before = left(limiter, LOOPBACK)
  for (const { name, backend } of clientsOf(urls, { authorization: 'Bearer nonsense' })) {
    t.equal(await answer(backend.query({ topics: ['a'] })), 'unauthenticated', name)
    t.equal(await answer(backend.publish({})), 'unauthenticated', name)
  }
  t.same(left(limiter, LOOPBACK), before)
  t.equal(store.count('envelopes'), 0)
})

t.test('case 14: a free RPC does not look at credentials', async (t) => {
  const { urls } = await start(t)
  for (const { name, backend } of clientsOf(urls, { authorization: 'Bearer nonsense' })) {
    t.equal(await answer(backend.getConfiguration({})), 'ok', name)
  }
})

t.test('RATE-025: an API key, a token and an address have the limits of their kind', async (t) => {
  const list = (count: number) => [{ count, windowSeconds: 60 }]
  const rateLimits = {
    ...limits({}),
    categories: { request: { default: list(9), api_key: list(1), jwt: list(2), ip: list(3) } },
  }
  const { urls } = await start(t, {}, { limiter: createLimiter({ rateLimits }) })
  for (const [headers, admitted] of [
    [{ 'x-api-key': demo.apiKey }, 1],
    [bearer(await token({ sub: 'alice' })), 2],
    [{}, 3],
  ] as const) {
    const { backend } = clientsOf(urls, { ...headers })[0]!
    for (let i = 0; i < admitted; i++) t.equal(await answer(backend.query({ topics: ['a'] })), 'ok')
    t.match(await answer(backend.query({ topics: ['a'] })), /resource_exhausted/)
  }
})

t.test('a second Authorization line is not overlooked', async (t) => {
  const { urls } = await start(t)
  const { connect } = await import('node:net')
  const { port, hostname } = new URL(urls.http)
  const socket = connect(Number(port), hostname)
  const lines = [
    `POST /${SERVICE}/Query HTTP/1.1`,
    'Host: example',
    'Connection: close',
    `Authorization: Bearer ${demo.apiKey}`,
    `Authorization: Bearer ${await token({ sub: 'alice' })}`,
    'Content-Type: application/json',
    'Content-Length: 2',
  ]
  socket.write(`${lines.join('\r\n')}\r\n\r\n{}`)
  const chunks = await socket.toArray()
  t.match(Buffer.concat(chunks).toString(), /^HTTP\/1\.1 401 /)
})
