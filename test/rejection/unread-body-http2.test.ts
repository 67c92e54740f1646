import { once } from 'node:events'
import { type ClientHttp2Stream, connect, constants } from 'node:http2'
import { createClient } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node'
import type { ServiceError } from '@grpc/grpc-js'
import t from 'tap'
import { MatrixService } from '../gen/test/v1/matrix_pb.ts'
import { grpcJsStub, metadataOf, ofServiceError } from '../support/grpc-js-client.ts'
import { openDeafClient } from '../support/http2-frames.ts'
import { second } from '../support/limiter-of.ts'
import { listeningMatrixApp, pathOf, type Teardown } from '../support/matrix-app.ts'
import { collectGarbage, heldBytes } from '../support/process-memory.ts'
import { openSession, type RawResponse, request, responseTo, send } from '../support/raw-http2.ts'
import { ofConnectError, ofConnectJson, rejectionOf } from '../support/rejection.ts'
import { type WatchedClock, watchedClock } from '../support/watched-clock.ts'
import { envelope } from '../support/wire.ts'

const caller = { type: 'api_key', name: 'writer' } as const
const headers = { 'x-caller': caller.name, 'content-type': 'application/json' }
const denied = { status: 429, ...rejectionOf('request', 60_000) }

/** A server on which the caller has nothing left, and a session with it. */
const refusing = async (t: Teardown, options: { maxDiscardBytes?: number; discardTimeoutMs?: number } = {}) => {
  const clock = watchedClock()
  const server = await listeningMatrixApp(t, { clock, http2: true, limits: { request: '1/60' }, allowance: options })
  server.limiter.spend(caller, 'request', 1)
  return { ...server, clock, session: openSession(t, server.url) }
}

const errorIn = ({ status, headers, body }: RawResponse) => ({
  status,
  ...ofConnectJson(JSON.parse(body.toString()), headers['retry-after']),
})

/** Ends as the server ends it: the client never ends its own side. */
const answerTo = async (stream: ClientHttp2Stream) => errorIn(await responseTo(stream))

t.test('HTTP/2: a body that is too long ends its stream, after the answer, and no other', async (t) => {
  const bodies = {
    'told by content-length alone': [{ 'content-length': '1001' }, 0],
    'told by content-length, all but one byte sent': [{ 'content-length': '1001' }, 1000],
    'without a content-length': [{}, 1001],
  } as const
  for (const [name, [more, sent]] of Object.entries(bodies)) {
    t.test(name, async (t) => {
      const { session, clock, called, app } = await refusing(t, { maxDiscardBytes: 1000 })
      const stream = request(session, pathOf('Unary'), { ...headers, ...more })
      if (sent > 0) stream.write('x'.repeat(sent))
      t.same(await answerTo(stream), denied)
      t.equal(clock.scheduled, 0, 'no timer is left')

      clock.advance(60n * second)
      const { status } = await send(session, pathOf('Unary'), headers, '{"items":[]}')
      t.equal(status, 200, 'the session goes on')
      t.same(called, ['Unary'])
      await app.close()
    })
  }

  t.test('and one that is just not', async (t) => {
    const { session } = await refusing(t, { maxDiscardBytes: 1000 })
    const answer = await send(session, pathOf('Unary'), headers, 'x'.repeat(1000))
    t.same(errorIn(answer), denied)
    t.equal(answer.rstCode, constants.NGHTTP2_NO_ERROR)
  })
})

t.test('HTTP/2: an upload that dribbles is answered when its time is up, and cut off', async (t) => {
  for (const [name, body] of [
    ['with some of its body', 'x'],
    ['with nothing but its head', ''],
  ] as const) {
    t.test(name, async (t) => {
      const { session, clock, app } = await refusing(t, { discardTimeoutMs: 5000 })
      const stream = request(session, pathOf('Unary'), headers)
      if (body !== '') stream.write(body)
      await clock.busy()
      clock.advance(5n * second - 1n)
      t.equal(clock.scheduled, 1, 'a nanosecond before it is still waited for')
      clock.advance(1n)
      t.same(await answerTo(stream), denied)
      t.equal(clock.scheduled, 0)
      await app.close()
    })
  }

  t.test('and does not hold up other calls on its session', async (t) => {
    const { session, clock } = await refusing(t)
    const stream = request(session, pathOf('Unary'), headers)
    await clock.busy()
    t.equal((await send(session, pathOf('Free'), headers, '{}')).status, 200)
    t.equal(clock.scheduled, 1)
    clock.advance(10n * second)
    t.same(await answerTo(stream), denied)
  })
})

t.test('HTTP/2: a client that leaves while its body is read leaves no timer behind', async (t) => {
  const ways = {
    'by cancelling the call': (stream: ClientHttp2Stream) => stream.close(constants.NGHTTP2_CANCEL),
    'by an error': (stream: ClientHttp2Stream) => stream.close(constants.NGHTTP2_INTERNAL_ERROR),
    'by closing the connection': (stream: ClientHttp2Stream) => stream.session?.destroy(),
  }
  for (const [name, leave] of Object.entries(ways)) {
    t.test(name, async (t) => {
      const { session, clock, called, app } = await refusing(t)
      const stream = request(session, pathOf('Unary'), headers)
      stream.on('error', () => {})
      stream.write('x')
      await clock.busy()
      leave(stream)
      await clock.idle()
      t.same(called, [])
      if (!session.destroyed) {
        t.equal((await send(session, pathOf('Free'), headers, '{}')).status, 200, 'the session goes on')
      }
      await app.close()
    })
  }
})

t.test('HTTP/2: a compressed body is never decoded', async (t) => {
  const { session } = await refusing(t)
  for (const encoding of ['gzip', 'br', 'nonsense']) {
    const answer = await send(
      session,
      pathOf('Unary'),
      { ...headers, 'content-encoding': encoding },
      'this is none of them',
    )
    t.same(errorIn(answer), denied, encoding)
  }
  const grpc = { 'x-caller': caller.name, 'content-type': 'application/grpc', 'grpc-encoding': 'gzip' }
  const answer = await send(session, pathOf('Unary'), grpc, envelope('this is no gzip', 1))
  t.equal(answer.headers['grpc-status'], '8', 'gRPC')
})

t.test('HTTP/2: the memory for a body that is thrown away does not grow with it', async (t) => {
  const { session } = await refusing(t, { maxDiscardBytes: 2 ** 30 })
  const stream = request(session, pathOf('Unary'), headers)
  const answer = responseTo(stream)
  const piece = Buffer.alloc(1 << 20, 'x')
  const before = heldBytes()
  let most = 0
  for (let i = 0; i < 64; i++) {
    await new Promise((written) => stream.write(piece, written))
    if (i % 16 === 15) most = Math.max(most, heldBytes().arrayBuffers - before.arrayBuffers)
  }
  stream.end()
  t.same(errorIn(await answer), denied)
  t.ok(most < 8 << 20, `${most} bytes held of ${64 * piece.length}`)
})

t.test('case 15: a refused stream ends without waiting for the client to end its side', async (t) => {
  t.test('on raw HTTP/2', async (t) => {
    for (const rpc of ['Bidi', 'ClientStream']) {
      for (const type of ['application/connect+json', 'application/grpc', 'application/grpc-web']) {
        const { session, clock, app } = await refusing(t)
        const stream = request(session, pathOf(rpc), { ...headers, 'content-type': type })
        stream.write(envelope('{}'))
        t.equal((await responseTo(stream)).status, 200, `${rpc}, ${type}`)
        t.equal(clock.scheduled, 0)
        await app.close()
      }
    }
  })

  t.test('with connect-node', async (t) => {
    for (const [name, createTransport] of [
      ['Connect', createConnectTransport],
      ['gRPC-Web', createGrpcWebTransport],
      ['gRPC', createGrpcTransport],
    ] as const) {
      const { url, app } = await refusing(t)
      const client = createClient(MatrixService, createTransport({ baseUrl: url, httpVersion: '2' }))
      async function* endless() {
        yield { items: [] }
        await new Promise(() => {})
      }
      const call = async () => {
        for await (const _ of client.bidi(endless(), { headers: { 'x-caller': caller.name } })) t.fail('admitted')
      }
      const error = await call().then(() => undefined, ofConnectError)
      t.same(error, rejectionOf('request', 60_000), name)
      await app.close()
    }
  })

  t.test('with grpc-js', async (t) => {
    const { url, app } = await refusing(t)
    const stub = grpcJsStub(url)
    t.teardown(() => stub.close())
    const call = stub.Bidi(metadataOf({ 'x-caller': caller.name }))
    call.write({ items: [] })
    const error = await new Promise<ServiceError>((resolve) => call.on('error', resolve).on('data', () => {}))
    t.same(ofServiceError(error), rejectionOf('request', 60_000))
    await app.close()
  })
})

t.test('HTTP/2: a refused stream whose answer the client never takes is closed when the time is up', async (t) => {
  const server = await listeningMatrixApp(t, {
    clock: watchedClock(),
    http2: true,
    limits: { request: '1/60' },
    allowance: { discardTimeoutMs: 5000 },
  })
  const clock = server.clock as WatchedClock
  server.limiter.spend(caller, 'request', 1)
  const session = connect(server.url, { settings: { initialWindowSize: 0 } })
  t.teardown(() => session.destroy())
  for (const ended of [true, false]) {
    const stream = request(session, pathOf('Unary'), { ...headers, ...(!ended && { 'content-length': '2000000' }) })
    stream.on('error', () => {})
    if (ended) stream.end('{}')
    const closed = once(stream, 'close')
    // The time for the body, unless it has come by then, and the time for the answer.
    for (let i = 0; i < 2; i++) {
      await Promise.race([clock.busy(), closed])
      clock.advance(5n * second)
    }
    await closed
    t.equal(clock.scheduled, 0, ended ? 'a body that ended' : 'one that did not')
  }
  await server.app.close()
})

t.test('HTTP/2: many refused streams of one session that all have more to send read their answers', async (t) => {
  const { session, clock, app } = await refusing(t, { maxDiscardBytes: 1000 })
  const streams = Array.from({ length: 90 }, () => {
    const stream = request(session, pathOf('Unary'), headers)
    stream.write('x'.repeat(1001))
    return stream
  })
  for (const answer of await Promise.all(streams.map(answerTo))) t.same(answer, denied)
  t.equal(clock.scheduled, 0)
  await app.close()
})

t.test('a server that closes while a body dribbles answers it at once', async (t) => {
  const { session, clock, app } = await refusing(t)
  const stream = request(session, pathOf('Unary'), headers)
  stream.write('x')
  const answer = answerTo(stream)
  await clock.busy()
  const closed = app.close()
  t.same(await answer, denied)
  await closed
  if (!session.closed) await once(session, 'close')
  t.equal(clock.scheduled, 0)
})

t.test('HTTP/2: a stream that is refused for a message ends too, and the server closes', async (t) => {
  for (const rpc of ['ClientStream', 'Bidi']) {
    for (const type of ['application/connect+json', 'application/grpc+json', 'application/grpc-web+json']) {
      const { url, app, clock, limiter } = await listeningMatrixApp(t, { http2: true, limits: { work: '1/60' } })
      limiter.spend(caller, 'work', 1)
      const stream = request(openSession(t, url), pathOf(rpc), { ...headers, 'content-type': type })
      stream.write(envelope('{"items":["one"]}'))
      t.equal((await responseTo(stream)).status, 200, `${rpc}, ${type}`)
      await app.close()
      t.equal(clock.scheduled, 0)
    }
  }
})

t.test('HTTP/2: nothing is left of refused streams whose clients go on sending after the answer', async (t) => {
  const { app, url } = await refusing(t, { maxDiscardBytes: 16_384 })
  // What it could not send stays with the client.
  const session = connect(url, { maxSessionMemory: 100 })
  t.teardown(() => session.destroy())
  const open = new Set<unknown>()
  app.server.on('stream', (stream) => {
    open.add(stream)
    stream.on('close', () => open.delete(stream))
  })
  const answers = Array.from({ length: 30 }, async () => {
    const stream = request(session, pathOf('Unary'), headers)
    stream.end(Buffer.alloc(500_000))
    return answerTo(stream)
  })
  for (const answer of await Promise.all(answers)) t.same(answer, denied)
  while (open.size > 0) await new Promise(setImmediate)
  await app.close()
  t.pass('and the server closes')
})

t.test('HTTP/2: a client that answers no ping leaves no memory behind', async (t) => {
  const { app, port, clock } = await refusing(t)
  const streams: WeakRef<object>[] = []
  app.server.on('stream', (stream) => streams.push(new WeakRef(stream)))
  const { call } = await openDeafClient(t, port)
  const count = 200
  for (let i = 0; i < count; i++) await call(pathOf('ClientStream'), { ...headers, 'content-type': 'application/grpc' })
  await clock.idle()
  t.equal(streams.length, count)
  const held = () => streams.filter((stream) => stream.deref() !== undefined).length
  for (let i = 0; i < 100 && held() > 5; i++) {
    await new Promise((resolve) => setTimeout(resolve, 10))
    collectGarbage()
  }
  t.ok(held() <= 5, `${held()} of ${count} streams are held`)
})
