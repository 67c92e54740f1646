import { once } from 'node:events'
import { connect, constants } from 'node:http2'
import t, { type Test } from 'tap'
import { apiKey, second } from '../support/limiter-of.ts'
import type { Teardown } from '../support/matrix-app.ts'
import { listeningPlainApp } from '../support/plain-app.ts'
import { closeOf, type Http1Response, headOf, openSocket } from '../support/raw-http1.ts'
import { openSession, request, responseTo, send } from '../support/raw-http2.ts'

/** A server with a plain route on which the caller `writer` has nothing left, in either step, and one without charge. */
const refusing = async (
  t: Teardown,
  { http2 = false, ...allowance }: { http2?: boolean; maxDiscardBytes?: number; discardTimeoutMs?: number } = {},
) => {
  const bodies: unknown[] = []
  const server = await listeningPlainApp(t, {
    http2,
    limits: { request: '1/60' },
    allowance,
    routes: (app) =>
      app
        .post('/', { config: { allowance: {} } }, async ({ body }) => void bodies.push(body))
        .post('/thrown', { onRequest: (request) => request.spend('request', 1) }, async () => {})
        .post('/free', async () => 'free'),
  })
  server.limiter.spend(apiKey('writer'), 'request', 1)
  return { ...server, bodies }
}

const headers = [
  ['x-caller', 'writer'],
  ['content-type', 'application/json'],
] as const
const post = (path: string, length: number, ...more: (readonly [string, string])[]) =>
  headOf(path, [...headers, ['content-length', length], ...more])
const postChunked = (path: string) => headOf(path, [...headers, ['transfer-encoding', 'chunked']])
const chunk = (length: number) => `${length.toString(16)}\r\n${'x'.repeat(length)}\r\n`
const isRefusal = (
  t: Test,
  { status, headers, body }: Pick<Http1Response, 'status' | 'headers' | 'body'>,
  name: string,
) => {
  t.equal(status, 429, name)
  t.equal(headers['retry-after'], '60', name)
  t.match(JSON.parse(body), { title: 'Quota Exceeded', 'violated-policies': ['caller'] }, name)
}

for (const path of ['/', '/thrown']) {
  t.test(`HTTP/1.1, ${path}: after a refusal the same connection serves the next request`, async (t) => {
    const bodies = {
      'no body': [post(path, 0)],
      'as long as is read at most': [post(path, 1000), 'x'.repeat(1000)],
      'in two parts': [post(path, 1000), 'x', 'x'.repeat(999)],
      chunked: [postChunked(path), chunk(999), chunk(1), '0\r\n\r\n'],
      'that asks first': [post(path, 1000, ['expect', '100-continue']), 'x'.repeat(1000)],
    }
    for (const [name, parts] of Object.entries(bodies)) {
      const { port, clock, bodies } = await refusing(t, { maxDiscardBytes: 1000 })
      const { write, response } = await openSocket(t, port)
      for (const part of parts) write(part)
      if (name === 'that asks first') t.equal((await response()).status, 100)
      const refusal = await response()
      isRefusal(t, refusal, name)
      t.not(refusal.headers.connection, 'close')
      t.equal(clock.scheduled, 0, 'no timer is left')
      clock.advance(60n * second)
      write(`${post(path, 2)}{}`)
      t.equal((await response()).status, 200)
      t.same(bodies, path === '/' ? [{}] : [])
    }
  })

  t.test(`HTTP/1.1, ${path}: two requests written at once are both answered, in order`, async (t) => {
    const { port } = await refusing(t)
    const { write, response } = await openSocket(t, port)
    write(`${post(path, 10)}${'x'.repeat(10)}${post('/free', 2)}{}${post(path, 5)}xxxxx`)
    isRefusal(t, await response(), 'first')
    t.match(await response(), { status: 200, body: 'free' })
    isRefusal(t, await response(), 'third')
  })

  t.test(`HTTP/1.1, ${path}: a body that is too long ends the connection, after the answer`, async (t) => {
    const bodies = {
      'told by content-length alone': [post(path, 1001)],
      'chunked, that goes on': [postChunked(path), chunk(1000), chunk(1)],
      'far more than memory': [post(path, 2 ** 50)],
      'followed by another request': [post(path, 1001), 'x'.repeat(1001), post('/free', 0)],
    }
    for (const [name, parts] of Object.entries(bodies)) {
      const { port, app, clock } = await refusing(t, { maxDiscardBytes: 1000 })
      const { write, response, socket, closed } = await openSocket(t, port)
      for (const part of parts) write(part)
      const refusal = await response()
      isRefusal(t, refusal, name)
      t.equal(refusal.headers.connection, 'close', name)
      socket.end()
      await closed
      await app.close()
      t.equal(clock.scheduled, 0, name)
    }
  })

  t.test(`HTTP/1.1, ${path}: an upload that dribbles is answered when its time is up, and cut off`, async (t) => {
    const { port, clock } = await refusing(t, { discardTimeoutMs: 5000 })
    const { write, response, closed } = await openSocket(t, port)
    write(`${post(path, 500)}x`)
    await clock.busy()
    clock.advance(5n * second)
    isRefusal(t, await response(), 'dribbles')
    await clock.busy()
    clock.advance(5n * second)
    await closed
  })

  t.test(`HTTP/1.1, ${path}: a server that closes answers at once what still dribbles, and closes`, async (t) => {
    const { port, clock, app } = await refusing(t)
    const { write, response, closed } = await openSocket(t, port)
    write(`${post(path, 500)}x`)
    await clock.busy()
    const answer = response()
    const close = app.close()
    isRefusal(t, await answer, 'dribbles')
    await closed
    await close
    t.equal(clock.scheduled, 0)
  })

  t.test(`HTTP/2, ${path}: refused with its body read, or its stream cut off, and no other`, async (t) => {
    const bodies = {
      short: ['x'.repeat(1000), {}, true],
      'that says it is too long': ['x', { 'content-length': '1001' }, false],
      'too long': ['x'.repeat(1001), {}, false],
    } as const
    const { url, clock, app } = await refusing(t, { http2: true, maxDiscardBytes: 1000 })
    const session = openSession(t, url)
    for (const [name, [body, more, ends]] of Object.entries(bodies)) {
      const stream = request(session, path, { ...Object.fromEntries(headers), ...more })
      stream.write(body)
      if (ends) stream.end()
      const { status, headers: got, body: answer, rstCode } = await responseTo(stream)
      isRefusal(t, { status, headers: got as Record<string, string>, body: answer.toString() }, name)
      t.equal(rstCode, constants.NGHTTP2_NO_ERROR, name)
    }
    t.equal((await send(session, '/free', Object.fromEntries(headers), '{}')).status, 200, 'the session goes on')
    t.equal(clock.scheduled, 0)
    await app.close()
  })

  t.test(
    `HTTP/2, ${path}: an upload that dribbles is answered when its time is up, or the server closes`,
    async (t) => {
      for (const end of ['time', 'close'] as const) {
        const { url, clock, app } = await refusing(t, { http2: true, discardTimeoutMs: 5000 })
        const stream = request(openSession(t, url), path, Object.fromEntries(headers))
        stream.write('x')
        await clock.busy()
        const answer = responseTo(stream)
        const closing = end === 'close' ? app.close() : undefined
        if (end === 'time') clock.advance(5n * second)
        t.equal((await answer).status, 429, end)
        await (closing ?? app.close())
        t.equal(clock.scheduled, 0, end)
      }
    },
  )
}

t.test('HTTP/1.1: a request behind one whose connection ends is neither served nor charged', async (t) => {
  const { port, bodies, left } = await refusing(t, { maxDiscardBytes: 1000 })
  const { write, response, closed } = await openSocket(t, port)
  const next = headOf('/', [
    ['x-caller', 'other'],
    ['content-type', 'application/json'],
    ['content-length', 2],
  ])
  write(`${post('/', 1001)}${'x'.repeat(1001)}${next}{}`)
  isRefusal(t, await response(), 'the first')
  await closed
  t.same(bodies, [])
  t.same(left('other'), [1])
})

t.test('handlerTimeout that ends the wait for a body frees its connection or stream', async (t) => {
  for (const http2 of [false, true]) {
    const server = await listeningPlainApp(t, {
      http2,
      fastify: { handlerTimeout: 50 },
      limits: { request: '1/60' },
      routes: (app) => app.post('/', { config: { allowance: {} } }, async () => 'ok'),
    })
    server.limiter.spend(apiKey('writer'), 'request', 1)
    if (http2) {
      const stream = request(openSession(t, server.url), '/', Object.fromEntries(headers))
      stream.write('x')
      const answer = responseTo(stream)
      await server.clock.busy()
      await new Promise((resolve) => setTimeout(resolve, 100))
      server.clock.advance(10n * second)
      t.equal((await answer).status, 503)
    } else {
      const { write, response, closed } = await openSocket(t, server.port)
      write(`${post('/', 500)}x`)
      t.equal((await response()).status, 503)
      server.clock.advance(10n * second)
      await closed
    }
    await server.app.close()
    t.equal(server.clock.scheduled, 0)
  }
})

t.test('identify that fails leaves no body unread', async (t) => {
  const { port, app } = await listeningPlainApp(t, {
    allowance: {
      maxDiscardBytes: 1000,
      identify: async () => {
        throw new Error('no')
      },
    },
    routes: (app) => app.post('/', { config: { allowance: {} } }, async () => 'ok'),
  })
  const { write, response, socket, closed } = await openSocket(t, port)
  write(`${post('/', 1000)}${'x'.repeat(1000)}${post('/', 1001)}x`)
  t.match(await response(), { status: 500 })
  t.match(await response(), { status: 500, headers: { connection: 'close' } })
  socket.end()
  await closed
  await app.close()
})

t.test(
  'HTTP/2: a refusal that its client never takes is given up when the time is up, or the server closes',
  async (t) => {
    for (const closes of [false, true]) {
      const { url, app, clock } = await refusing(t, { http2: true, discardTimeoutMs: 5000 })
      const session = connect(url, { settings: { initialWindowSize: 0 } })
      session.on('error', () => {})
      t.teardown(() => session.destroy())
      const stream = request(session, '/', Object.fromEntries(headers))
      stream.on('error', () => {}).end('{}')
      const closed = once(stream, 'close')
      const [{ ':status': status }] = await once(stream, 'response')
      t.equal(status, 429)
      await clock.busy()
      if (!closes) clock.advance(5n * second)
      else await app.close()
      await closed
      t.equal(clock.scheduled, 0)
      await app.close()
    }
  },
)

t.test(
  'HTTP/1.1: of pipelined requests, those admitted before the one whose refusal ends the connection are answered',
  async (t) => {
    const { promise: isOpen, resolve: open } = Promise.withResolvers<void>()
    let seen = 0
    const { port, left } = await listeningPlainApp(t, {
      limits: { request: '3/60' },
      allowance: { maxDiscardBytes: 0 },
      before: (app) =>
        // So that a refusal is under way before the next request is looked at.
        app.addHook('onRequest', async () => {
          await new Promise(setImmediate)
          if (++seen === 6) setTimeout(open, 20)
        }),
      routes: (app) =>
        app.post('/', { config: { allowance: {} } }, async () => {
          await isOpen
          return 'ok'
        }),
    })
    const connection = await openSocket(t, port)
    const { write, response } = connection
    write(`${post('/', 2)}{}`.repeat(6))
    for (let i = 0; i < 3; i++) t.match(await response(), { status: 200, body: 'ok' })
    const refusal = await response()
    t.equal(refusal.status, 429)
    t.equal(refusal.headers.connection, 'close')
    t.equal(await closeOf(connection), 'closed, after ""')
    t.same(left('writer'), [0])
  },
)
