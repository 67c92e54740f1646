import t from 'tap'
import { allowanceOf } from '../../src/index.ts'
import { headers, type LiveAppOptions, liveApp, liveClients, until } from '../support/live-app.ts'
import { grpcJsSubscriber } from '../support/live-grpc-js.ts'
import type { Teardown } from '../support/matrix-app.ts'
import { ofConnectError, rejectionOf } from '../support/rejection.ts'

/** A server with a Subscribe as an app writes it: each request holds so many topics more, and is answered when they are registered. */
const server = async (t: Teardown, options: LiveAppOptions = {}) => {
  const registered: number[] = []
  const app = await liveApp(
    t,
    {
      async *subscribe(messages, context) {
        const stream = await allowanceOf(context).openStream(0)
        yield { text: 'Started' }
        for await (const { topics } of messages) {
          await stream.update(topics, { registers: topics > stream.topics })
          registered.push(topics)
          yield { text: `Applied ${topics}` }
        }
      },
      async *watch({ topics }, context) {
        await allowanceOf(context).openStream(topics)
        yield { text: 'Started' }
      },
    },
    { ...options, http2: true },
  )
  return { ...app, registered, subscribe: grpcJsSubscriber(t, app.url) }
}

t.test('case 1: an Update whose rent is denied ends the call, with the delay of the whole rent', async (t) => {
  const { subscribe, registered, spend, left, clock, url, advance } = await server(t)
  const call = subscribe()
  call.write(1000)
  await call.has(2)
  t.equal(left('stream_rent'), 118)
  spend('stream_rent', 114)
  const requests = left('request')
  call.write(5001)
  t.same(await call.outcome, rejectionOf('stream_rent', 1500))
  t.same(call.received, ['Started', 'Applied 1000'], 'no Applied')
  t.same(registered, [1000])
  t.equal(left('request'), requests, 'no target read is paid for')
  await until(() => clock.scheduled === 0)

  const { client } = liveClients(url, true)[0]!
  const reopen = async () => {
    const received: string[] = []
    for await (const { text } of client.watch({ topics: 5001 }, { headers })) received.push(text)
    return received
  }
  const refused = (error: unknown) => ofConnectError(error)
  t.same(await reopen().catch(refused), rejectionOf('stream_rent', 1500))
  advance(1.499)
  t.same(await reopen().catch(refused), rejectionOf('stream_rent', 1))
  advance(0.001)
  t.same(await reopen().catch(refused), ['Started'])
})

t.test('case 2: an Update whose target read is denied ends the call, with the delay of two requests', async (t) => {
  const { subscribe, registered, spend, left } = await server(t)
  const call = subscribe()
  await call.has(1)
  spend('request', left('request'))
  call.write(1)
  t.same(await call.outcome, rejectionOf('request', 2000))
  t.same(call.received, ['Started'])
  t.same(registered, [])
})

t.test('case 8: an Update that registers nothing new owes no target read', async (t) => {
  const { subscribe, left, clock } = await server(t)
  const call = subscribe()
  for (const topics of [1000, 1000, 10]) call.write(topics)
  await call.has(4)
  t.equal(left('request'), 58, 'the call itself and one target read')
  call.end()
  t.equal(await call.outcome, undefined)
  t.equal(clock.scheduled, 0, 'the end of the handler ends the stream')
  t.equal(left('stream_rent'), 118)
})

t.test('a client that cancels its call pays no more', async (t) => {
  const { subscribe, clock } = await server(t)
  const calls = [subscribe(), subscribe(), subscribe()]
  for (const call of calls) await call.has(1)
  t.equal(clock.scheduled, 1)
  for (const call of calls) call.cancel()
  await until(() => clock.scheduled === 0)
  for (const call of calls) t.match(await call.outcome, { code: 'canceled' })
})

t.test('onDenied is told of what streams are denied, with the delay that the client reads', async (t) => {
  const told: unknown[] = []
  const { subscribe, spend } = await server(t, {
    allowance: {
      onDenied: ({ category, retryDelayMs }, request) => told.push([category, retryDelayMs, request.caller]),
    },
  })
  const call = subscribe()
  await call.has(1)
  spend('stream_rent', 119)
  call.write(5001)
  await call.outcome
  t.match(told, [['stream_rent', 3500, { type: 'api_key', name: 'one caller' }]])
})
