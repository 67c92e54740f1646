import { Code, ConnectError, createClient, type Transport } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node'
import * as web from '@connectrpc/connect-web'
import t from 'tap'
import {
  type RateLimitInterceptorOptions,
  rateLimitInterceptor,
  reopening,
  retryDelayOf,
} from '../../src/client/index.ts'
import { systemClock } from '../../src/index.ts'
import { MatrixService } from '../gen/test/v1/matrix_pb.ts'
import { manualClientClock, settled } from '../support/client-clock.ts'
import { apiKey, millisecond } from '../support/limiter-of.ts'
import { domain, listeningMatrixApp, rateLimits } from '../support/matrix-app.ts'
import { outcome } from '../support/scripted-server.ts'

type Options = Parameters<typeof web.createConnectTransport>[0]

const transports: [name: string, http2: boolean, make: (options: Options) => Transport][] = [
  ['connect-web Connect', false, web.createConnectTransport],
  ['connect-web gRPC-Web', false, web.createGrpcWebTransport],
  ...([false, true] as const).flatMap((http2): typeof transports => {
    const httpVersion = http2 ? '2' : '1.1'
    const over = `over HTTP/${httpVersion}`
    return [
      [`connect-node Connect ${over}`, http2, (options) => createConnectTransport({ ...options, httpVersion })],
      [
        `connect-node Connect GET ${over}`,
        http2,
        (options) => createConnectTransport({ ...options, httpVersion, useHttpGet: true }),
      ],
      [`connect-node gRPC-Web ${over}`, http2, (options) => createGrpcWebTransport({ ...options, httpVersion })],
    ]
  }),
  ['connect-node gRPC', true, createGrpcTransport],
]

for (const http2 of [false, true]) {
  t.test(`RATE-041, HTTP/${http2 ? 2 : 1.1}: the retry goes through once the server's delay has passed`, async (t) => {
    const denied: string[] = []
    const server = await listeningMatrixApp(t, {
      http2,
      limits: { request: '2/3', step: '1/7' },
      allowance: { onDenied: ({ category }) => void denied.push(category) },
    })
    const clock = manualClientClock()
    const advance = (ms: number) => {
      server.clock.advance(BigInt(ms) * millisecond)
      clock.advance(ms)
    }
    const mine = transports.filter(([, over]) => over === http2)
    const clientOf = (make: (options: Options) => Transport, options: Partial<RateLimitInterceptorOptions> = {}) => {
      const interceptor = rateLimitInterceptor({ domain, clock, jitterMs: 0, ...options })
      return createClient(MatrixService, make({ baseUrl: server.url, interceptors: [interceptor] }))
    }
    const forget = () => {
      denied.length = 0
      server.called.length = 0
    }

    for (const [name, , make] of mine) {
      t.test(`${name}, unary`, async (t) => {
        forget()
        const caller = `${name}, unary`
        server.limiter.spend(apiKey(caller), 'request', 2)
        const call = clientOf(make).unary({ items: ['one', 'two'] }, { headers: { 'x-caller': caller } })
        await clock.waiting()
        t.same(clock.timers, [1500])
        advance(1499)
        await settled()
        t.same([denied, server.called], [['request'], []], 'nothing is sent before')
        advance(1)
        t.equal((await call).text, '2 items')
        t.same([denied, server.called], [['request'], ['Unary']], 'one denial, and once through')
        t.equal(server.left(caller), 0, 'at the price of one call')
        t.equal(server.left(caller, 'work'), 1_000_000 - 2)
      })

      t.test(`${name}, handed on with its delay`, async (t) => {
        const caller = `${name}, handed on`
        server.limiter.spend(apiKey(caller), 'request', 2)
        const headers = { 'x-caller': caller }
        t.equal(retryDelayOf(await outcome(clientOf(make, { maxTries: 1 }).unary({}, { headers })), domain), 1500)
        t.equal(retryDelayOf(await outcome(clientOf(make, { domain: 'example.com' }).unary({}, { headers }))), 1500)
        t.equal(retryDelayOf(await outcome(clientOf(make).unary({}, { headers, timeoutMs: 1400 }))), 1500)
        t.same(clock.timers, [])
      })

      t.test(`case 4, ${name}: an abort during the wait`, async (t) => {
        forget()
        const caller = `${name}, abort`
        server.limiter.spend(apiKey(caller), 'request', 2)
        const abort = new AbortController()
        const call = outcome(clientOf(make).unary({}, { headers: { 'x-caller': caller }, signal: abort.signal }))
        await clock.waiting()
        advance(100)
        abort.abort()
        const error = await call
        t.ok(error instanceof ConnectError && error.code === Code.Canceled)
        t.same(clock.timers, [])
        advance(10_000)
        await settled()
        t.same([denied, server.called], [['request'], []], 'nothing is sent again')
      })

      t.test(`${name}, a stream denied after a message is opened again by the app`, async (t) => {
        forget()
        const caller = `${name}, stream`
        server.limiter.spend(apiKey(caller), 'step', 1)
        const client = clientOf(make)
        const received: string[] = []
        let cursor = 0
        const reading = (async () => {
          const stream = reopening(
            (signal) => {
              const items = Array.from({ length: ++cursor }, () => 'item')
              return client.serverStream({ items }, { headers: { 'x-caller': caller, 'x-step': 'one' }, signal })
            },
            { domain, clock, jitterMs: 0 },
          )
          for await (const { text } of stream) received.push(text)
        })()
        await clock.waiting()
        t.same(clock.timers, [7000])
        t.same(received, ['1 items'], 'what came before the denial')
        advance(6999)
        await settled()
        t.same(server.called, ['ServerStream'])
        advance(1)
        await reading
        t.same(received, ['1 items', '2 items'])
        t.same([denied, server.called], [['step'], ['ServerStream', 'ServerStream']])
        t.equal(server.left(caller, 'step'), 0)
      })

      t.test(`${name}, a stream that is refused is handed on and never sent again`, async (t) => {
        forget()
        const caller = `${name}, refused stream`
        server.limiter.spend(apiKey(caller), 'request', 2)
        const client = clientOf(make)
        const options = { headers: { 'x-caller': caller } }
        const all = async (stream: AsyncIterable<unknown>) => {
          for await (const _ of stream);
        }
        const calls = [() => all(client.serverStream({}, options))]
        if (name.startsWith('connect-node')) {
          async function* items() {
            yield { items: ['one'] }
          }
          calls.push(() => client.clientStream(items(), options).then(() => {}))
          calls.push(() => all(client.bidi(items(), options)))
        }
        for (const call of calls) t.equal(retryDelayOf(await outcome(call()), domain), 1500)
        t.same(clock.timers, [])
        t.same([denied.length, server.called], [calls.length, []])
      })

      t.test(`${name}, leaving a stream that waits`, async (t) => {
        const caller = `${name}, leaving`
        server.limiter.spend(apiKey(caller), 'step', 1)
        const client = clientOf(make)
        const headers = { 'x-caller': caller, 'x-step': 'one' }
        const stream = reopening((signal) => client.serverStream({}, { headers, signal }), { domain, clock })
        t.match(await stream.next(), { value: { text: '0 items' } })
        const pending = stream.next()
        await clock.waiting()
        await stream.return?.()
        t.match(await pending, { done: true })
        t.same(clock.timers, [])
      })
    }
  })
}

t.test('RATE-041, in real time: as many calls as it takes, none denied twice', async (t) => {
  let denied = 0
  const server = await listeningMatrixApp(t, {
    allowance: { clock: systemClock, rateLimits: rateLimits({ request: '20/1' }), onDenied: () => void denied++ },
  })
  server.limiter.spend(apiKey('me'), 'request', 20)
  const interceptors = [rateLimitInterceptor({ domain })]
  const client = createClient(MatrixService, web.createConnectTransport({ baseUrl: server.url, interceptors }))
  for (let call = 0; call < 3; call++) await client.unary({}, { headers: { 'x-caller': 'me' } })
  t.equal(server.called.length, 3)
  t.ok(denied >= 1 && denied <= 3, `${denied} denials of 3 calls`)
})
