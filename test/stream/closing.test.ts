import { performance } from 'node:perf_hooks'
import t from 'tap'
import { allowanceOf } from '../../src/index.ts'
import { LiveService } from '../gen/test/v1/live_pb.ts'
import { gate, headers, liveApp, liveClients } from '../support/live-app.ts'
import { headOf, openSocket } from '../support/raw-http1.ts'
import { openSession, request } from '../support/raw-http2.ts'
import { ofConnectError } from '../support/rejection.ts'

const closing = { code: 'unavailable', message: 'the server is closing', details: [], retryAfter: undefined }

/** A handler that opens a stream and never ends by itself. */
const stuck = (opened: () => void): NonNullable<Parameters<typeof liveApp>[1]['watch']> =>
  async function* ({ topics }, context) {
    await allowanceOf(context).openStream(topics)
    yield { text: 'open' }
    opened()
    await new Promise(() => {})
  }

for (const http2 of [false, true]) {
  t.test(`close() ends every stream in time, over HTTP/${http2 ? 2 : 1.1}`, async (t) => {
    let waitFor = 0
    const all = gate()
    const handler = stuck(() => --waitFor === 0 && all.open())
    const { app, url, clock } = await liveApp(
      t,
      {
        watch: handler,
        async *subscribe(messages, context) {
          for await (const message of messages) yield* handler(message, context)
        },
      },
      { http2 },
    )
    const calls = liveClients(url, http2).flatMap(({ name, client }) => {
      const endless = async function* () {
        yield { topics: 1 }
        await new Promise(() => {})
      }
      return [
        { name: `${name}, server stream`, call: client.watch({ topics: 1 }, { headers }) },
        ...(http2 ? [{ name: `${name}, bidi`, call: client.subscribe(endless(), { headers }) }] : []),
      ]
    })
    waitFor = calls.length
    const outcomes = calls.map(async ({ name, call }) => {
      const received: string[] = []
      try {
        for await (const { text } of call) received.push(text)
        return { name, received, error: undefined }
      } catch (error) {
        return { name, received, error: ofConnectError(error) }
      }
    })
    await all.passed
    t.equal(clock.scheduled, 1)
    const before = performance.now()
    await app.close()
    t.ok(performance.now() - before < 1000, `in ${Math.round(performance.now() - before)} ms`)
    t.equal(clock.scheduled, 0)
    for (const { name, received, error } of await Promise.all(outcomes)) {
      t.same(received, ['open'], name)
      t.same(error, closing, name)
    }
  })
}

t.test('close() does not wait for a client that never stops sending', async (t) => {
  const opened = gate()
  const { app, url, clock } = await liveApp(
    t,
    { subscribe: (_messages, context) => stuck(opened.open)({ topics: 1 } as never, context) as never },
    { http2: true },
  )
  const session = openSession(t, url)
  const stream = request(session, `/${LiveService.typeName}/Subscribe`, {
    ...headers,
    'content-type': 'application/grpc',
  })
  stream.on('error', () => {})
  stream.resume()
  const trailers = new Promise((resolve) => stream.once('trailers', resolve))
  await opened.passed
  const before = performance.now()
  await app.close()
  t.ok(performance.now() - before < 1000, `in ${Math.round(performance.now() - before)} ms`)
  t.match(await trailers, { 'grpc-status': '14' })
  t.equal(clock.scheduled, 0)
})

t.test('close() does not wait for a client that never stops sending, over HTTP/1.1', async (t) => {
  const opened = gate()
  const { app, port, clock } = await liveApp(t, {
    async collect(messages, context) {
      await allowanceOf(context).openStream(0)
      opened.open()
      for await (const _ of messages) t.fail('a message')
      return {}
    },
  })
  const { write, response, closed } = await openSocket(t, port)
  const head = { ...headers, 'content-type': 'application/connect+json', 'transfer-encoding': 'chunked' }
  write(headOf(`/${LiveService.typeName}/Collect`, Object.entries(head)))
  await opened.passed
  const before = performance.now()
  await app.close()
  t.ok(performance.now() - before < 1000, `in ${Math.round(performance.now() - before)} ms`)
  const { status, body } = await response()
  t.equal(status, 200)
  t.match(JSON.parse(body.slice(5)), { error: { code: 'unavailable', message: 'the server is closing' } })
  await closed
  t.equal(clock.scheduled, 0)
})

t.test('a stream that is about to open when the server closes is refused', async (t) => {
  const arrived = gate()
  const goOn = gate()
  const { app, url, left } = await liveApp(t, {
    async *watch(_request, context) {
      arrived.open()
      await goOn.passed
      await allowanceOf(context).openStream(1)
      yield { text: 'open' }
    },
  })
  const [first] = liveClients(url, false)
  const outcome = (async () => {
    for await (const _ of first!.client.watch({}, { headers })) t.fail('open')
  })().catch((error) => ofConnectError(error))
  await arrived.passed
  const closed = app.close()
  await new Promise(setImmediate)
  goOn.open()
  t.same(await outcome, closing)
  t.equal(left('stream_rent'), 120)
  await closed
})
