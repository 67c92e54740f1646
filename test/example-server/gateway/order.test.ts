import t from 'tap'
import { openSocket } from '../../support/raw-http1.ts'
import { many, petra, route, start, statuses, tom } from './harness.ts'

for (const per of ['route', 'address']) {
  t.test(`per ${per}: refused before a session is looked up, a body is read, or the upstream is dialled`, async (t) => {
    const { send, port, lookUps, upstream } = await start(t, {
      routes: route(`
        { per = "user", count = 100, window = "PT1M" },
        { per = "${per}", count = 2, window = "PT1M" },
      `),
    })
    t.same(await statuses(2, () => send('/x', { headers: petra })), [200, 200])
    t.equal(lookUps(), 2)
    const dialled = upstream.dialled()
    t.same(await statuses(5, () => send('/x', { headers: petra })), many(5, 429))
    t.same(await statuses(1, () => send('/x', { headers: { 'x-api-key': 'no-such-token-000' } })), [429], 'nor checked')
    const socket = await openSocket(t, port)
    socket.write(`POST /x HTTP/1.1\r\nhost: a\r\nx-api-key: ${petra['x-api-key']}\r\ncontent-length: 99\r\n\r\n`)
    t.equal((await socket.response()).status, 429, 'no byte of the body was sent')
    t.equal(lookUps(), 2)
    t.equal(upstream.dialled(), dialled)
    t.equal(upstream.reached.length, 2)
  })
}

t.test('only the routes that ask for an identity pay for a session', async (t) => {
  const { send, lookUps } = await start(t, {
    routes: `
      ${route('{ per = "address", count = 100, window = "PT1M" }, { per = "route", count = 100, window = "PT1M" }')}
      [[routes]]
      name = "no-rules"
      prefix = "/free"
      upstream = "UPSTREAM"
      [[routes]]
      name = "narrowed"
      prefix = "/narrowed"
      upstream = "UPSTREAM"
      rules = [{ per = "address", only = { roles = ["trial"] }, count = 1, window = "PT1M" }]
    `,
  })
  for (const path of ['/x', '/free']) {
    t.equal((await send(path, { headers: petra })).status, 200)
    t.equal((await send(path, { headers: { 'x-api-key': 'nonsense' } })).status, 200)
  }
  t.equal(lookUps(), 0)
  t.same(await statuses(3, () => send('/narrowed', { headers: petra })), many(3, 200))
  t.same(await statuses(2, () => send('/narrowed', { headers: tom })), [200, 429], 'narrowed, whatever it counts by')
  t.equal(lookUps(), 5)
})

t.test('a credential that is no good: 401, and what needs no identity is charged all the same', async (t) => {
  const { send, upstream, logged } = await start(t, {
    routes: route('{ per = "address", count = 8, window = "PT1M" }, { per = "user", count = 100, window = "PT1M" }'),
  })
  const bad: Record<string, string>[] = [
    { 'x-api-key': 'no-such-token-000' },
    { 'x-api-key': '' },
    { cookie: 'session=token-of-petra-1' },
    { cookie: 'session=' },
    { cookie: 'a=b; session=session-of-petra; session=session-of-petra' },
    { ...petra, cookie: 'session=session-of-petra' },
    { 'x-api-key': 'ü'.repeat(20) },
    { 'x-api-key': '__proto__' },
  ]
  for (const headers of bad) {
    const { status, headers: fields, body } = await send('/x', { headers })
    t.equal(status, 401, JSON.stringify(headers))
    t.ok(fields['www-authenticate'])
    t.notMatch(body, /petra|token-of/)
  }
  t.equal((await send('/x', { headers: petra })).status, 429)
  t.equal(upstream.reached.length, 0)
  t.notMatch(logged.join(''), /petra|127\.0\.0\.1/)
})

t.test('a credential that is no good on what looks like a preflight: 401', async (t) => {
  const { send, upstream } = await start(t, { routes: route('{ per = "user", count = 100, window = "PT1M" }') })
  const headers = { origin: 'https://app.example', 'access-control-request-method': 'POST' }
  const ask = (more: Record<string, string>) => send('/x', { method: 'OPTIONS', headers: { ...headers, ...more } })
  t.equal((await ask({ 'x-api-key': 'no-such-token-000' })).status, 401)
  t.equal(upstream.reached.length, 0)
  t.equal((await ask(petra)).status, 200)
})

t.test('a bound that needs an identity gives back, when it refuses, what needed none', async (t) => {
  const { send } = await start(t, {
    routes: route('{ per = "address", count = 3, window = "PT1M" }, { per = "user", count = 1, window = "PT1M" }'),
  })
  t.same(await statuses(20, () => send('/x', { headers: petra })), [200, ...many(19, 429)])
  t.same(await statuses(3, (i) => send('/x', i === 0 ? { headers: tom } : {})), [200, 200, 429])
})
