import t from 'tap'
import { WRITE_UNITS } from '../../../example-server/event-store/limits.ts'
import { SECOND, start, type TestServer, TOKEN } from './harness.ts'

/** Sends writes without a body, each from another address, until one is refused or `count` are not; returns how many were not. */
async function flood({ app }: TestServer, count: number, token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` }
  for (let i = 0; i < count; i++) {
    const remoteAddress = `10.0.${i >> 8}.${i & 255}`
    const { statusCode } = await app.inject({ method: 'POST', url: '/api/v1/write-events', headers, remoteAddress })
    if (statusCode === 429) return i
  }
  return count
}

t.test('the global limit exists twice: a flood without a valid token holds back nobody with one', async (t) => {
  const files = [{ path: '/main-1.js', type: 'text/javascript', body: '' }]
  const server = await start(t, { cpus: 1, page: { html: '', files }, developmentMode: true })
  const { app, call } = server
  const ask = async (url: string, token?: string, method: 'GET' | 'POST' = 'GET') =>
    (
      await app.inject({
        url,
        method,
        remoteAddress: '192.0.2.1',
        ...(token && { headers: { authorization: `Bearer ${token}` } }),
      })
    ).statusCode
  t.equal(await flood(server, 2001, 'not-the-token'), 10_000 / WRITE_UNITS)
  t.equal(await ask('/.well-known/api-catalog'), 429, 'a route that needs no token')
  t.equal(await ask('/nothing'), 429, 'no route')
  t.equal(await ask('//'), 429, 'an unclean path')
  for (const path of ['/', '/main-1.js'])
    t.equal(await ask(path), 429, `${path}, which browsers ask for without the token`)
  t.equal(await ask('/debug/profiles/heap'), 429, 'a profile')
  t.equal(await ask('/api/v2/openapi.json'), 429, 'a definition')
  t.equal(await ask('/api/v1/ping', undefined, 'POST'), 429, 'a method that ping does not take')
  t.equal(await ask('/api/v1/read-event-types', 'another-bad-one', 'POST'), 429)
  t.equal(await ask('/.well-known/api-catalog', TOKEN), 200)
  t.equal(await ask('/api/v1/read-event-types', TOKEN, 'POST'), 200)
  for (const probe of ['/api/v1/ping', '/api/v1/health', '/api/v2/ping', '/api/v2/health']) {
    t.equal(await ask(probe), 200, probe)
    t.equal(await ask(probe, TOKEN), 200, probe)
  }
  server.clock.advance(SECOND / 10_000n)
  t.equal((await call('/nothing', { token: null })).status, 404, 'a ten-thousandth of a second later')
})

t.test('clients with a valid token share a global limit too, from which only ping and health are exempt', async (t) => {
  const server = await start(t, { cpus: 1 })
  t.equal(await flood(server, 2001, TOKEN), 10_000 / WRITE_UNITS)
  const refused = await server.call('/api/v1/read-event-types')
  t.equal(refused.status, 429)
  t.equal(refused.headers['retry-after'], '1')
  t.equal((await server.call('/nothing', { token: null })).status, 404)
  t.equal((await server.call('/api/v2/health')).status, 200)
})

t.test('0 switches the limit per client off, and the global ones remain', async (t) => {
  const server = await start(t, { cpus: 1, requestsPerSecond: 0 })
  const headers = { authorization: `Bearer ${TOKEN}` }
  const write = async () =>
    (await server.app.inject({ method: 'POST', url: '/api/v1/write-events', headers })).statusCode
  for (let i = 0; i < 10_000 / WRITE_UNITS; i++) if ((await write()) === 429) t.fail(`refused at ${i}`)
  t.equal((await server.call('/api/v1/diagnostics')).status, 429)
  t.equal((await server.call('/api/v1/ping')).status, 200)
})
