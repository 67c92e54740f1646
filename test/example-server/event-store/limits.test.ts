import { connect } from 'node:net'
import { parseList } from 'structured-headers'
import t from 'tap'
import { WRITE_UNITS } from '../../../example-server/event-store/limits.ts'
import { type Answer, candidate, SECOND, start, type TestServer, until, write } from './harness.ts'

/** The items of a structured field: the name and the parameters. */
function items(
  field: string | string[] | undefined,
): { name: unknown; r: unknown; t: unknown; q: unknown; w: unknown }[] {
  return parseList(String(field)).map(([name, parameters]) => ({
    name,
    ...(Object.fromEntries(parameters as Map<string, unknown>) as Record<'r' | 't' | 'q' | 'w', unknown>),
  }))
}

/** Units left of the limit that binds, as a response says. */
const remaining = ({ headers }: Answer) => items(headers.ratelimit)[0]?.r

/** What a request to the server costs its client, measured by pings beside it. */
async function costOf(server: TestServer, path: string, ask: Parameters<TestServer['call']>[1] = {}) {
  const before = remaining(await server.call('/api/v1/ping')) as number
  const answer = await server.call(path, ask)
  const after = remaining(await server.call('/api/v1/ping')) as number
  return { cost: before - after - 1, answer }
}

t.test(
  'the limit is per client, by the full address of its connection; forwarded headers are not trusted',
  async (t) => {
    const { call } = await start(t, { requestsPerSecond: 10 })
    for (let i = 0; i < 10; i++) {
      t.equal(
        (await call('/api/v1/ping', { headers: { 'x-forwarded-for': `192.0.2.${i}`, forwarded: `for=192.0.2.${i}` } }))
          .status,
        200,
      )
    }
    const refused = await call('/api/v1/ping', {
      headers: { 'x-forwarded-for': '192.0.2.99', 'x-real-ip': '192.0.2.99' },
    })
    t.equal(refused.status, 429)
    t.equal(refused.headers['retry-after'], '1')
    t.equal((await call('/api/v1/ping', { from: '127.0.0.2' })).status, 200, 'another address of the same host')
  },
)

t.test('every IPv6 address of one /64 is a client of its own', async (t) => {
  const { app } = await start(t, { requestsPerSecond: 5 })
  const ping = async (remoteAddress: string) => (await app.inject({ url: '/api/v1/ping', remoteAddress })).statusCode
  for (let i = 0; i < 5; i++) t.equal(await ping('2001:db8::1'), 200)
  t.equal(await ping('2001:db8::1'), 429)
  t.equal(await ping('2001:db8:0:0:0:0:0:1'), 429, 'the same address, spelled differently')
  t.equal(await ping('2001:db8::2'), 200)
})

t.test('a write counts as several requests, all else as one, in both APIs', async (t) => {
  const server = await start(t, { page: { html: '<p>', files: [] }, developmentMode: true })
  const event = { events: [candidate()] }
  for (const api of ['/api/v1', '/api/v2']) {
    const write = await costOf(server, `${api}/write-events`, { body: event })
    t.same([write.cost, write.answer.status], [WRITE_UNITS, 200], `${api} write`)
    const ones = {
      ping: {},
      health: {},
      diagnostics: {},
      'verify-api-token': {},
      'read-events': { body: { subject: '/' } },
      'run-eventql-query': { body: { query: 'FROM e IN events PROJECT INTO e' } },
      'read-subjects': { body: { baseSubject: '/' } },
      'read-event-types': {},
      'read-event-type': { body: { eventType: candidate().type } },
      'register-event-schema': { body: { eventType: `com.example.${api.slice(-2)}`, schema: { type: 'object' } } },
      backup: {},
      'export-events': {},
      'verify-store': {},
      'audit-history': {},
      'import-events': { body: '\n' },
      restore: { body: '\n' },
      'openapi.json': {},
    }
    for (const [route, ask] of Object.entries(ones)) {
      const { cost, answer } = await costOf(server, `${api}/${route}`, ask)
      t.same([cost, answer.status], [1, route === 'restore' ? 409 : 200], `${api} ${route} ${answer.body}`)
    }
  }
  const page = await costOf(server, '/', { token: null })
  t.same([page.cost, page.answer.status], [1, 200])
  const held = await costOf(server, '/', {
    token: null,
    headers: { 'if-none-match': String(page.answer.headers.etag) },
  })
  t.same([held.cost, held.answer.status], [1, 304], 'a file that the browser holds')
  t.equal((await costOf(server, '/debug/profiles/heap')).cost, 1)
  t.equal((await costOf(server, '/.well-known/api-catalog')).cost, 1)
  t.equal((await costOf(server, '/.well-known/openapi')).cost, 1)
  t.equal((await costOf(server, '/api/v1/ping', { method: 'HEAD' })).cost, 1, 'an automatic HEAD route, charged once')
})

t.test('what no route takes counts as a read', async (t) => {
  const server = await start(t)
  const cases = [
    ['/nothing/here', 'GET', 404],
    ['/api/v3/ping', 'GET', 404],
    ['/api/v1/ping/', 'GET', 404],
    ['/api/v1/ping', 'POST', 405],
    ['/api/v1/write-events', 'GET', 405],
    ['/api/v1/write-events', 'DELETE', 405],
    ['/api/v1/write-events', 'OPTIONS', 405],
    ['/api/v1/write-events', 'PURGE', 405],
    ['/%zz', 'GET', 400],
    ['/api/v1/%ff', 'GET', 400],
    ['//api/v1/ping', 'GET', 308],
    ['/./api/v1/ping', 'GET', 308],
    ['/api/../api/v1/ping', 'GET', 308],
    ['/api/v1//write-events', 'POST', 308],
    ['/api/v1/%2e/ping', 'GET', 308],
  ] as const
  for (const [path, method, status] of cases) {
    const { cost, answer } = await costOf(server, path, { method })
    t.same([cost, answer.status], [1, status], `${method} ${path}`)
  }
})

t.test('what looks like a preflight counts as any other request', async (t) => {
  const server = await start(t, { requestsPerSecond: 5 })
  const headers = { origin: 'https://app.example', 'access-control-request-method': 'POST' }
  const preflight = (path: string) => server.call(path, { method: 'OPTIONS', headers, token: null })
  const paths = ['/api/v1/ping', '/api/v2/write-events', '/nothing/here', '//api/v1/ping', '/%zz']
  let left = 5
  for (const path of paths) {
    const { headers } = await preflight(path)
    t.match(items(headers.ratelimit), [{ r: --left }], path)
    t.match(items(headers['ratelimit-policy'])[0], { q: 5, w: 1 }, path)
  }
  for (const path of paths) t.equal((await preflight(path)).status, 429, path)
  t.equal((await server.call('/api/v1/ping')).status, 429)
})

t.test('an unclean path is redirected to its clean form, where it is paid for again', async (t) => {
  const { call } = await start(t)
  const locations = {
    '//api//v1/./ping?a=//b': '/api/v1/ping?a=//b',
    '/./': '/',
    '//': '/',
    '/a/..': '/',
    '/../../api/v1/../v2/ping': '/api/v2/ping',
    '/api/v1/ping/.': '/api/v1/ping/',
    '//example.com/x': '/example.com/x',
    '//\\example.com': '/%5Cexample.com',
    '/%2E%2e/api': '/api',
    '/a//%zz': '/a/%zz',
  }
  for (const [path, location] of Object.entries(locations)) {
    const { status, headers } = await call(path, { method: 'GET' })
    t.same([status, headers.location], [308, location], path)
  }
  const posted = await call('//api/v1/write-events', { method: 'POST', body: { events: [candidate()] } })
  t.equal(posted.headers.location, '/api/v1/write-events')
})

t.test('a remaining value of 4 means that a read would still pass while a write would not', async (t) => {
  const server = await start(t, { requestsPerSecond: 10 })
  t.equal(remaining(await write(server, '/a')), 5)
  t.equal(remaining(await server.call('/api/v1/read-events', { body: { subject: '/' } })), 4)
  const refused = await write(server, '/b')
  t.equal(refused.status, 429)
  t.equal(refused.headers['retry-after'], '1')
  t.equal(server.store.eventCount(), 1)
  t.equal((await server.call('/api/v1/read-events', { body: { subject: '/' } })).status, 200)
  // 3 are left, and a tenth of a second brings one: 2 more are needed.
  server.clock.advance(SECOND / 5n - 1n)
  t.equal((await write(server, '/b')).status, 429)
  server.clock.advance(1n)
  t.equal((await write(server, '/b')).status, 200)
})

t.test('RateLimit and RateLimit-Policy stand on every response, in units', async (t) => {
  const server = await start(t, { requestsPerSecond: 100 })
  const answers = {
    ping: await server.call('/api/v1/ping'),
    read: await server.call('/api/v1/read-events', { body: { subject: '/' } }),
    'no token': await server.call('/api/v1/read-events', { body: { subject: '/' }, token: null }),
    'bad body': await server.call('/api/v1/read-events', { body: '{' }),
    'bad type': await server.call('/api/v1/read-events', { body: 'x', headers: { 'content-type': 'text/plain' } }),
    'no route': await server.call('/nothing'),
    'wrong method': await server.call('/api/v1/ping', { method: 'DELETE' }),
    redirect: await server.call('//'),
    undecodable: await server.call('/%zz'),
    catalog: await server.call('/.well-known/api-catalog'),
  }
  let left = 100
  for (const [what, { headers }] of Object.entries(answers)) {
    t.match(items(headers.ratelimit), [{ r: --left }], what)
    t.match(items(headers['ratelimit-policy'])[0], { q: 100, w: 1 }, what)
  }
})

t.test('one client may send 1000 per second for each CPU by default', async (t) => {
  const { call } = await start(t, { cpus: 3 })
  const answer = await call('/api/v1/ping')
  t.equal(remaining(answer), 2999)
})

t.test('a limit below what a write costs still lets writes pass, at its rate', async (t) => {
  const server = await start(t, { requestsPerSecond: 1 })
  t.equal((await write(server, '/a')).status, 200)
  t.equal((await server.call('/api/v1/ping')).status, 429)
  server.clock.advance(5n * SECOND - 1n)
  t.equal((await write(server, '/a')).status, 429)
  server.clock.advance(1n)
  t.equal((await write(server, '/a')).status, 200)
})

t.test('1000 requests at once never pass more than the limit', async (t) => {
  const { app } = await start(t, { requestsPerSecond: 100 })
  const answers = await Promise.all(Array.from({ length: 1000 }, () => app.inject({ url: '/api/v1/ping' })))
  t.equal(answers.filter(({ statusCode }) => statusCode === 200).length, 100)
  t.equal(answers.filter(({ statusCode }) => statusCode === 429).length, 900)
})

t.test('pipelined requests are charged one by one', async (t) => {
  const { port } = await start(t, { requestsPerSecond: 10 })
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk
  })
  socket.write('GET /api/v1/ping HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(15))
  await until(() => (text.match(/HTTP\/1\.1 \d+/g) ?? []).length === 15)
  t.equal(text.match(/HTTP\/1\.1 200/g)?.length, 10)
  t.equal(text.match(/HTTP\/1\.1 429/g)?.length, 5)
})

t.test('a refusal comes before the token is looked at and the body read', async (t) => {
  const { call } = await start(t, { requestsPerSecond: 5 })
  for (let i = 0; i < 5; i++) await call('/api/v1/ping')
  const refused = await call('/api/v1/read-events', { body: '{', token: null })
  t.equal(refused.status, 429)
  t.match(refused.headers['content-type'], /^application\/problem\+json/)
})

t.test('ping and health still count against the limit per client', async (t) => {
  const { call } = await start(t, { requestsPerSecond: 5 })
  for (const path of ['/api/v1/ping', '/api/v1/health', '/api/v2/ping', '/api/v2/health', '/api/v1/ping']) {
    t.equal((await call(path)).status, 200)
  }
  t.equal((await call('/api/v2/health')).status, 429)
})
