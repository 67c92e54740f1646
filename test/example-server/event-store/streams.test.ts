import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import t from 'tap'
import { candidate, SECOND, start, type TestServer, TOKEN, until } from './harness.ts'

const OBSERVE = { subject: '/', options: { recursive: true } }

/** Opens observing streams and waits for each to have begun. */
async function openMany(server: TestServer, count: number, from = '127.0.0.1', version = 'v1') {
  const opened: IncomingMessage[] = []
  while (opened.length < count) {
    const batch = Array.from({ length: Math.min(32, count - opened.length) }, () =>
      server.open(`/api/${version}/observe-events`, { body: OBSERVE, from }),
    )
    opened.push(...(await Promise.all(batch)))
  }
  return opened
}

t.test(
  'case 6: 256 streams are open, the 257th is refused for a second; one is dropped, and the next opens',
  async (t) => {
    const server = await start(t, { cpus: 8 })
    const opened = [...(await openMany(server, 128)), ...(await openMany(server, 128, '127.0.0.1', 'v2'))]
    t.ok(opened.every(({ statusCode }) => statusCode === 200))
    const refused = await server.call('/api/v1/observe-events', { body: OBSERVE })
    t.equal(refused.status, 429)
    t.equal(refused.headers['retry-after'], '1')
    t.match(refused.headers['content-type'], /^application\/problem\+json/)
    server.clock.advance(60n * SECOND)
    t.equal((await server.call('/api/v2/observe-events', { body: OBSERVE })).status, 429, 'time alone brings no stream')
    const elsewhere = await server.open('/api/v1/observe-events', { body: OBSERVE, from: '127.0.0.2' })
    t.equal(elsewhere.statusCode, 200, 'another address')
    elsewhere.destroy()

    // Which routes count as a stream, and which do not.
    const event = { events: [candidate()] }
    const streaming = {
      'read-events': { subject: '/' },
      'run-eventql-query': { query: 'FROM e IN events PROJECT INTO e' },
      'read-subjects': { baseSubject: '/' },
      'read-event-types': undefined,
      backup: undefined,
      'export-events': undefined,
      'verify-store': undefined,
      'audit-history': undefined,
    }
    const others = {
      'write-events': event,
      'register-event-schema': { eventType: 'com.example.other', schema: { type: 'object' } },
      'read-event-type': { eventType: candidate().type },
      'import-events': '\n',
      restore: '\n',
      'verify-api-token': undefined,
    }
    for (const version of ['v1', 'v2']) {
      for (const [route, body] of Object.entries(streaming)) {
        const { status, headers } = await server.call(`/api/${version}/${route}`, body === undefined ? {} : { body })
        t.same([status, headers['retry-after']], [429, '1'], `${version} ${route}`)
      }
      for (const [route, body] of Object.entries(others)) {
        const { status } = await server.call(`/api/${version}/${route}`, body === undefined ? {} : { body })
        t.not(status, 429, `${version} ${route}`)
      }
      t.equal((await server.call(`/api/${version}/ping`)).status, 200)
    }

    opened[100]!.socket.destroy()
    await until(async () => {
      const next = await server.open('/api/v1/observe-events', { body: OBSERVE })
      if (next.statusCode === 200) opened.push(next)
      else next.resume()
      return next.statusCode === 200
    })
    t.equal((await server.call('/api/v1/observe-events', { body: OBSERVE })).status, 429)
    for (const stream of opened) stream.destroy()
  },
)

t.test('every IPv6 address of one /64 holds streams of its own', async (t) => {
  const { app } = await start(t, { cpus: 8 })
  const opened: Readable[] = []
  const open = async (remoteAddress: string) => {
    const response = await app.inject({
      method: 'POST',
      url: '/api/v1/observe-events',
      headers: { authorization: `Bearer ${TOKEN}` },
      payload: OBSERVE,
      remoteAddress,
      payloadAsStream: true,
    })
    opened.push(response.stream())
    return response.statusCode
  }
  for (let i = 0; i < 256; i++) t.equal(await open('2001:db8::1'), 200)
  t.equal(await open('2001:db8::1'), 429)
  t.equal(await open('2001:db8:0:0::1'), 429, 'the same address, spelled differently')
  t.equal(await open('2001:db8::2'), 200)
  for (const stream of opened) stream.destroy()
})

t.test('a stream that ends gives its place back, each time', async (t) => {
  const server = await start(t)
  for (let i = 0; i < 300; i++) {
    const { status } = await server.call('/api/v1/read-events', { body: { subject: '/' } })
    if (status !== 200) t.fail(`refused at ${i}`)
  }
  await until(async () => JSON.parse((await server.call('/api/v1/diagnostics')).body).openStreams === 0)
})

t.test('what is refused for another reason keeps no stream', async (t) => {
  const server = await start(t)
  for (let i = 0; i < 300; i++) {
    const answers = await Promise.all([
      server.call('/api/v1/observe-events', { body: OBSERVE, token: null }),
      server.call('/api/v1/observe-events', { body: '{' }),
    ])
    if (answers.some(({ status }) => status === 429)) t.fail(`refused at ${i}`)
  }
  const stream = await server.open('/api/v1/observe-events', { body: OBSERVE })
  t.equal(stream.statusCode, 200)
  stream.destroy()
})

t.test('0 switches off the limit of open streams too, and opening one still counts globally', async (t) => {
  const server = await start(t, { cpus: 8, requestsPerSecond: 0 })
  const opened = await openMany(server, 300)
  t.ok(opened.every(({ statusCode }) => statusCode === 200))
  const { headers } = await server.call('/api/v1/diagnostics')
  t.match(headers.ratelimit, /r=79699/)
  for (const stream of opened) stream.destroy()
})
