import { connect } from 'node:net'
import fc from 'fast-check'
import t from 'tap'
import { heldBytes } from '../../support/process-memory.ts'
import { candidate, start, TOKEN, until, write } from './harness.ts'

const AUTHORIZATION = `Bearer ${TOKEN}`
const POSTS = [
  'write-events',
  'register-event-schema',
  'read-events',
  'run-eventql-query',
  'read-subjects',
  'read-event-types',
  'read-event-type',
  'backup',
  'export-events',
  'verify-store',
  'audit-history',
  'import-events',
  'restore',
]

/** Sends bytes that ask for the connection to be closed, or must end it, and reads what comes until it is, for 20 s at most. */
function sendBytes(port: number, bytes: string | Buffer): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    let received = ''
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1')
    })
    socket.on('error', () => {}).on('close', () => resolve(received))
    socket.setTimeout(20_000, () => socket.destroy())
    socket.write(bytes)
  })
}

const deep = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
const events = (data: string, rest = '') =>
  `{"events":[{"source":"urn:x","subject":"/a","type":"com.example.a","data":${data}${rest}}]}`

t.test('no body makes an error of the server', async (t) => {
  const { app, store, logged } = await start(t, { cpus: 1000 })
  const known = [
    '',
    'null',
    '[]',
    '5',
    '"x"',
    '{"__proto__":{}}',
    '{"constructor":{"prototype":{}}}',
    events('{"__proto__":{"a":1}}'),
    events('{"a":1e999}'),
    events(`{"a":${deep(100)}}`),
    events(`{"a":${deep(60)}}`),
    events('{}', ',"subject":"/b"'),
    events('{}', ',"extra":1'),
    events('[]'),
    events('null'),
    events('{"a":"\\ud800"}'),
    `{"events":[${'{},'.repeat(5000)}{}]}`,
    '{"events":[]}',
    '{"subject":"/","options":{"recursive":true,"lowerBound":{"id":"99999999999999999999","type":"inclusive"}}}',
    '{"subject":"/","options":{"recursive":true,"lowerBound":{"id":"999999999999999","type":"exclusive"}}}',
    '{"subject":"/","options":{"recursive":"yes"}}',
    '{"subject":"/a\\u0000b"}',
    '{"subject":"\\ud800"}',
    '{"baseSubject":"/../.."}',
    '{"eventType":"com.example.a","schema":{"type":"object","properties":{"__proto__":{"type":"string"}}}}',
    '{"eventType":"com.example.a","schema":{"type":"object","properties":{"constructor":{"type":"string"}}}}',
    `{"eventType":"com.example.b","schema":${'{"type":"object","properties":{"a":'.repeat(200)}{}${'}}'.repeat(200)}}`,
    '{"eventType":"com.example.c","schema":{"type":"object","properties":{"n":{"type":"number","minimum":1e999}}}}',
    '{"eventType":"com.example.d","schema":{"type":"object","enum":[]}}',
    '{"query":"FROM e IN events WHERE e.__proto__.x == 1 PROJECT INTO e"}',
    '{"query":"FROM e IN events PROJECT INTO { __proto__: e, toString: e.data }"}',
    `{"query":"${'('.repeat(8000)}"}`,
    `{"query":"FROM e IN events WHERE ${'e.a == 1 AND '.repeat(100)} e.a == 1 PROJECT INTO e"}`,
    '{"query":"FROM e IN events SKIP 999999999999999 TOP 999999999999999 PROJECT INTO COUNT()"}',
    '{"latestEventId":"0","latestEventHash":"x"}',
    '{"type":"event","payload":{}}\n',
    '{"type":"event"}\n',
    '{"type":"schema","payload":{"eventType":"com.example.a"}}\n',
    '{"a":1}'.repeat(10),
    deep(10_000),
    '{"a":'.repeat(5000),
    'x'.repeat(1_100_000),
  ].map((text) => Buffer.from(text))
  const body = fc.oneof(
    fc.constantFrom(...known),
    fc.json().map((text) => Buffer.from(text)),
    fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)),
  )
  const types = fc.constantFrom('application/json', 'application/json', 'application/x-ndjson', 'text/plain', ';', '')
  const send = async (api: string, route: string, type: string, payload: Buffer) => {
    const headers = { authorization: AUTHORIZATION, ...(type !== '' && { 'content-type': type }) }
    const { statusCode } = await app.inject({ method: 'POST', url: `/api/${api}/${route}`, headers, payload })
    return statusCode
  }
  for (const route of POSTS) {
    for (const payload of known) {
      const status = await send('v1', route, 'application/json', payload)
      if (status >= 500) t.fail(`${status}: ${route} ${payload.toString().slice(0, 100)}`)
    }
  }
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('v1', 'v2'),
      fc.constantFrom(...POSTS),
      types,
      body,
      async (api, route, type, payload) => {
        return (await send(api, route, type, payload)) < 500
      },
    ),
    { numRuns: 300 },
  )
  t.ok(store.eventCount() < 2000)
  t.notOk(
    logged.some((line) => line.includes('"level":50')),
    'no error is logged',
  )
})

t.test('what a message says of a body names the place, and not what was there', async (t) => {
  const { call } = await start(t)
  const error = async (route: string, body: unknown) =>
    JSON.parse((await call(`/api/v1/${route}`, { body })).body).error
  t.match(
    await error('write-events', { events: [candidate(), { ...candidate(), subject: 'secret' }] }),
    /^body\.events\[1\]\.subject: must be a subject/,
  )
  t.match(
    await error('write-events', { events: [{ ...candidate(), secret: 1 }] }),
    /^body\.events\[0\]: has a key that is not allowed/,
  )
  t.match(await error('write-events', '{"events": secret'), /^body: must be JSON$/)
  for (const body of [
    '{"secret',
    { secret: 1 },
    { subject: 'secret' },
    { subject: '/', options: { recursive: 'secret' } },
  ]) {
    t.notMatch(await error('read-events', body), /secret/)
  }
})

t.test('no path and no header makes an error of the server', async (t) => {
  const { port, logged } = await start(t, { cpus: 1000 })
  const part = fc.constantFrom(
    ...['/', '//', '.', '..', '%2e', '%2F', '%zz', '%', '%00', '%ff', '\\', '?', ';', '#', 'api', 'v1', 'ping'],
    ...['http://', '@', '\xe4', '*', '"', '__proto__', 'constructor', 'events'],
  )
  await fc.assert(
    fc.asyncProperty(
      fc.array(part, { maxLength: 12 }).map((parts) => `/${parts.join('')}`),
      fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE', 'SEARCH'),
      fc.string({ maxLength: 32 }).map((text) => text.replace(/[^\x20-\x7e]/g, '')),
      async (path, method, header) => {
        const head = `${method} ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n`
        const headers = ['authorization', 'if-none-match', 'x-forwarded-for', 'content-type', 'accept']
          .map((name) => `${name}: ${header}\r\n`)
          .join('')
        const answer = await sendBytes(port, Buffer.from(`${head}${headers}\r\n`, 'latin1'))
        const location = /^location: (.*)$/im.exec(answer)?.[1]?.trim()
        // None leads away from here.
        return /^HTTP\/1\.1 [234]/.test(answer) && (location === undefined || /^\/(?![/\\])/.test(location))
      },
    ),
    { numRuns: 300 },
  )
  t.notOk(logged.some((line) => line.includes('"level":50')))
})

t.test('bytes that are no HTTP, odd request lines and doubled headers', async (t) => {
  const { port, call } = await start(t)
  const status = async (bytes: string) => /^HTTP\/1\.1 (\d{3})/.exec(await sendBytes(port, bytes))?.[1]
  const rest = `host: x\r\nauthorization: ${AUTHORIZATION}\r\nconnection: close\r\n\r\n`
  t.equal(await status('\0\0\0\r\n\r\n'), '400')
  t.equal(await status('GET / HTTP/1.1\r\n\r\n'), '400', 'no host')
  t.equal(await status(`GET /${'a'.repeat(20_000)} HTTP/1.1\r\n${rest}`), '431')
  t.equal(await status(`GET /api/v1/ping HTTP/1.1\r\n${rest}`), '200')
  t.equal(await status(`GET http://x/api/v1/ping HTTP/1.1\r\n${rest}`), '200', 'a request line with the origin')
  t.equal(await status(`GET http://x//api/v1/ping HTTP/1.1\r\n${rest}`), '308')
  t.equal(await status(`GET http://x HTTP/1.1\r\n${rest}`), '400')
  t.equal(await status(`OPTIONS * HTTP/1.1\r\n${rest}`), '400')
  t.equal(await status(`GET /api/v1/ping HTTP/1.1\r\nexpect: a miracle\r\n${rest}`), '200')
  t.equal(
    await status(`POST /api/v1/verify-api-token HTTP/1.1\r\nauthorization: Bearer x\r\n${rest}`),
    '401',
    'of two tokens, the first counts',
  )
  t.equal(
    await status(`POST /api/v1/backup HTTP/1.1\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n${rest}`),
    '400',
  )
  t.equal(await status(`POST /api/v1/backup HTTP/1.1\r\ncontent-length: -1\r\n${rest}`), '400')
  t.equal(
    await status(
      `POST /api/v1/read-events HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: 99999999999\r\n${rest}`,
    ),
    '413',
  )
  t.equal(await status(`GET /api/v1/diagnostics HTTP/1.1\r\nupgrade: websocket\r\n${rest}`), '200')
  t.equal((await call('/api/v1/ping')).status, 200)
})

t.test(
  'a body that does not come is not waited for by anybody else, and one that is refused is thrown away',
  async (t) => {
    const server = await start(t)
    const head = `POST /api/v1/read-events HTTP/1.1\r\nhost: x\r\nauthorization: ${AUTHORIZATION}\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{`
    const slow = Array.from({ length: 50 }, () => connect(server.port, '127.0.0.1').on('error', () => {}))
    for (const socket of slow) socket.write(head)
    t.equal((await write(server, '/a')).status, 200)
    for (const socket of slow) socket.destroy()
    for (const [route, status] of [
      ['restore', 409],
      ['import-events', 400],
    ] as const) {
      const head = `POST /api/v1/${route} HTTP/1.1\r\nhost: x\r\nauthorization: ${AUTHORIZATION}\r\ncontent-length: 3000000\r\n\r\n`
      const ping = 'GET /api/v1/ping HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'
      const bytes = Buffer.concat([Buffer.from(head), Buffer.alloc(3_000_000, 'x\n'), Buffer.from(ping)])
      const answers = (await sendBytes(server.port, bytes)).match(/HTTP\/1\.1 \d+/g)
      t.same(answers, [`HTTP/1.1 ${status}`, 'HTTP/1.1 200'], route)
    }
  },
)

t.test('an upload that is too long is refused, and leaves nothing', async (t) => {
  const server = await start(t)
  const line = `${JSON.stringify({ type: 'event', payload: { ...candidate('/a', { x: 'x'.repeat(60_000) }), time: '2026-01-01T00:00:00.000Z' } })}\n`
  const { statusCode } = await server.app.inject({
    method: 'POST',
    url: '/api/v1/import-events',
    headers: { authorization: AUTHORIZATION },
    payload: Buffer.from(line.repeat(1200)),
  })
  t.equal(statusCode, 413)
  t.equal(server.store.eventCount(), 0)
})

t.test('nothing of a token, an address or an event is logged', async (t) => {
  const server = await start(t, { requestsPerSecond: 20 })
  await server.call('/api/v1/write-events', { body: { events: [candidate('/secret-subject', { is: 'secret-data' })] } })
  await server.call('/api/v1/backup', { token: 'secret-wrong-token' })
  await server.call('/secret-path')
  await server.call('//secret-path')
  await server.call('/api/v1/read-events', { body: '{"secret' })
  const stream = await server.open('/api/v1/observe-events', { body: { subject: '/secret-subject' } })
  stream.destroy()
  await until(() => server.logged.some((line) => line.includes('observe-events') || line.includes('premature')))
  for (let i = 0; i < 20; i++) await server.call('/api/v1/ping', { headers: { 'x-forwarded-for': '203.0.113.9' } })
  const logged = server.logged.join('\n')
  for (const secret of [TOKEN, 'secret', '127.0.0.1', '203.0.113.9']) t.notOk(logged.includes(secret), secret)
})

t.test('hundreds of streams that come and go leave nothing behind', async (t) => {
  const server = await start(t, { cpus: 1000 })
  await write(server, ...Array.from({ length: 10 }, (_, i) => `/s/${i}`))
  const round = async (count: number) => {
    for (let opened = 0; opened < count; opened += 20) {
      const streams = await Promise.all(
        Array.from({ length: 20 }, () =>
          server.open('/api/v1/observe-events', { body: { subject: '/s', options: { recursive: true } } }),
        ),
      )
      for (const stream of streams) stream.destroy()
    }
    await until(async () => JSON.parse((await server.call('/api/v1/diagnostics')).body).openStreams === 0)
  }
  await round(200)
  server.logged.length = 0
  const before = heldBytes().heap
  await round(400)
  server.logged.length = 0
  const grown = heldBytes().heap - before
  t.ok(grown < 800_000, `${grown} bytes`)
})
