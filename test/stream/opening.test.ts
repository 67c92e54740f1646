import { ConnectError } from '@connectrpc/connect'
import t from 'tap'
import { allowanceOf, createLimiter, type StreamsOptions } from '../../src/index.ts'
import { LiveService } from '../gen/test/v1/live_pb.ts'
import { bareApp } from '../support/charged-for.ts'
import { headers, liveApp, liveClients, until } from '../support/live-app.ts'
import { rateLimits } from '../support/matrix-app.ts'
import { ofConnectError, rejectionOf } from '../support/rejection.ts'

t.test(
  'RATE-032: a stream that cannot open is refused with the delay of its whole rent, in every protocol',
  async (t) => {
    for (const http2 of [false, true]) {
      const { url, spend, clock } = await liveApp(
        t,
        {
          async *watch({ topics }, context) {
            await allowanceOf(context).openStream(topics)
            yield { text: 'open' }
          },
        },
        { http2 },
      )
      spend('stream_rent', 116)
      for (const { name, client } of liveClients(url, http2)) {
        const call = async () => {
          for await (const _ of client.watch({ topics: 5001 }, { headers })) t.fail('open')
        }
        t.same(await call().catch(ofConnectError), rejectionOf('stream_rent', 1500), name)
      }
      t.equal(clock.scheduled, 0)
    }
  },
)

t.test('RATE-030: a handler may answer a denied opening otherwise', async (t) => {
  const { url, left, spend } = await liveApp(t, {
    async *watch(_request, context) {
      const allowance = allowanceOf(context)
      const stream = await allowance.openStream(5001).catch(() => allowance.openStream(0))
      yield { text: `${stream.topics} topics` }
    },
  })
  spend('stream_rent', 116)
  for await (const { text } of liveClients(url, false)[0]!.client.watch({}, { headers })) t.equal(text, '0 topics')
  t.equal(left('stream_rent'), 3)
})

t.test('a call whose client streams is refused too when its rent is denied late', async (t) => {
  for (const http2 of [false, true]) {
    const { url, clock, advance, spend, app } = await liveApp(
      t,
      {
        async collect(messages, context) {
          await allowanceOf(context).openStream(0)
          for await (const _ of messages) {
          }
          return { text: 'all' }
        },
      },
      { http2 },
    )
    for (const { name, client } of liveClients(url, http2)) {
      advance(600)
      const endless = async function* () {
        yield { topics: 1 }
        await new Promise(() => {})
      }
      const outcome = client.collect(endless(), { headers }).catch(ofConnectError)
      await until(() => clock.scheduled === 1)
      advance(59.75)
      spend('stream_rent', 120)
      advance(0.25)
      t.same(await outcome, rejectionOf('stream_rent', 250), name)
      await until(() => clock.scheduled === 0)
    }
    await app.close()
  }
})

t.test('RATE-011: an RPC that does not declare its rent opens no stream, and says so', async (t) => {
  const thrown: unknown[] = []
  const { url, left, clock } = await liveApp(t, {
    async *watchFree({ topics }, context) {
      await allowanceOf(context)
        .openStream(topics)
        .catch((error) => thrown.push(error))
      yield { text: 'not open' }
    },
  })
  for await (const { text } of liveClients(url, false)[0]!.client.watchFree({ topics: 1 }, { headers })) {
    t.equal(text, 'not open')
  }
  t.match(thrown, [{ message: /^the handler of test.v1.LiveService\/WatchFree cannot spend category "stream_rent"/ }])
  t.equal(left('stream_rent'), 120)
  t.equal(clock.scheduled, 0)
})

t.test('a unary RPC opens no stream, and says so', async (t) => {
  const thrown: unknown[] = []
  const { url, left } = await liveApp(t, {
    async ping(_request, context) {
      await allowanceOf(context)
        .openStream(1)
        .catch((error) => thrown.push(error))
      return {}
    },
  })
  await liveClients(url, false)[0]!.client.ping({}, { headers })
  t.match(thrown, [{ message: 'openStream: only a streaming RPC can open a stream' }])
  t.equal(left('stream_rent'), 120)
})

t.test('streams is checked at registration', async (t) => {
  const wrong: [StreamsOptions, string][] = [
    [{ periodSeconds: 0 }, 'options.streams.periodSeconds: must be a whole number from 1 to 8640000, got 0'],
    [{ periodSeconds: 0.5 }, 'options.streams.periodSeconds: must be a whole number from 1 to 8640000, got 0.5'],
    [{ rentOf: 5 as never }, 'options.streams.rentOf: must be a function of the number of topics, got 5'],
    [{ rentCategory: 7 as never }, 'options.streams.rentCategory: must be the name of a category, got 7'],
    [{ rentCategory: 'hire' }, 'options.streams.rentCategory: category "hire" is not declared'],
    [{ period: 60 } as never, 'options.streams: unknown key "period"'],
    ['no object' as never, 'options.streams: must be an object with the keys periodSeconds, rentOf, rentCategory'],
  ]
  for (const [streams, message] of wrong) {
    const error = await bareApp(t, { streams }).then(
      () => undefined,
      (thrown: Error) => thrown,
    )
    t.match(error, { code: 'ALLOWANCE_OPTIONS' }, message)
    t.ok(error?.message.includes(message), `${message}: ${error?.message}`)
  }
})

t.test('a rent, a period and a category of one’s own', async (t) => {
  const { url, advance, limiter, clock } = await liveApp(
    t,
    {
      async *watch({ topics }, context) {
        const stream = await allowanceOf(context).openStream(topics)
        yield { text: 'open' }
        await new Promise((resolve) => stream.signal.addEventListener('abort', resolve))
      },
    },
    {
      limits: { hire: '1000/3600' },
      allowance: {
        streams: { periodSeconds: 5, rentOf: (topics) => topics * 2, rentCategory: 'hire' },
        charges: [{ method: LiveService.method.watch, charges: [{ category: 'hire', byHandler: true }] }],
      },
    },
  )
  const hire = () => 1000 - limiter.remaining({ type: 'api_key', name: 'one caller' }, 'hire')[0]!.units
  const call = liveClients(url, false)[0]!.client.watch({ topics: 50 }, { headers })[Symbol.asyncIterator]()
  await call.next()
  t.equal(hire(), 100)
  advance(4.999)
  t.equal(hire(), 99, 'a unit is earned back')
  advance(0.001)
  t.equal(hire(), 199)
  t.equal(clock.scheduled, 1)
})

t.test('RATE-012: while limits are disabled, streams are never denied', async (t) => {
  const { url, clock, advance } = await liveApp(
    t,
    {
      async *watch({ topics }, context) {
        const stream = await allowanceOf(context).openStream(topics)
        await stream.update(topics * 1000, { registers: true })
        yield { text: await stream.catchUp(() => 'read') }
        advance(6000)
        stream.signal.throwIfAborted()
        yield { text: 'still open' }
      },
    },
    { allowance: { rateLimits: { ...rateLimits({ stream_rent: '1/60', request: '1/60' }), enabled: false } } },
  )
  const received: string[] = []
  for await (const { text } of liveClients(url, false)[0]!.client.watch({ topics: 10 ** 6 }, { headers })) {
    received.push(text)
  }
  t.same(received, ['read', 'still open'])
  t.equal(clock.scheduled, 0)
})

t.test('streams of a limiter that several servers share are on its clock', async (t) => {
  const limiter = createLimiter({ rateLimits: rateLimits({ stream_rent: '2/60' }) })
  const { url } = await liveApp(
    t,
    {
      async *watch({ topics }, context) {
        await allowanceOf(context).openStream(topics)
        yield { text: 'open' }
      },
    },
    { allowance: { limiter, rateLimits: undefined, clock: undefined } },
  )
  const call = async () => {
    for await (const _ of liveClients(url, false)[0]!.client.watch({ topics: 1 }, { headers })) {
    }
  }
  await call()
  t.match(await call().catch((error) => error instanceof ConnectError), true)
})
