import { type CallOptions, Code, type ConnectError } from '@connectrpc/connect'
import { errorToJson } from '@connectrpc/connect/protocol-connect'
import t from 'tap'
import { HeldMethods } from '../../src/client/held-methods.ts'
import {
  type RateLimitInterceptorOptions,
  rateLimitInterceptor,
  rejectionOf,
  retryDelayOf,
  type Wait,
} from '../../src/client/index.ts'
import { RetryInfoSchema } from '../../src/gen/google/rpc/error_details_pb.ts'
import { manualClientClock, settled } from '../support/client-clock.ts'
import {
  domain,
  errorInfo,
  errorWith,
  outcome,
  rejection,
  retryInfo,
  type Step,
  scriptedServer,
} from '../support/scripted-server.ts'

const clientOf = (script: Step[], options: Partial<RateLimitInterceptorOptions>) => {
  const clock = manualClientClock()
  const waits: Wait[] = []
  const interceptor = rateLimitInterceptor({
    domain,
    clock,
    jitterMs: 0,
    onWait: (wait) => waits.push(wait),
    ...options,
  })
  return { clock, waits, ...scriptedServer(script, [interceptor]) }
}

const streamOf = async (client: ReturnType<typeof clientOf>['client'], options: CallOptions = {}) => {
  for await (const _ of client.serverStream({}, options));
}

t.test('other calls of the method hold back while the delay runs, when asked to', async (t) => {
  const { client, seen, clock, waits } = clientOf([rejection(1000)], { holdBack: true })
  const first = client.unary({ items: ['first'] })
  await clock.waiting()
  clock.advance(400)
  const second = client.unary({ items: ['second'] })
  await clock.waiting(2)
  clock.advance(599)
  await settled()
  t.equal(seen.length, 1)
  clock.advance(1)
  await Promise.all([first, second])
  t.equal(seen.length, 3)
  t.same(
    waits.map(({ waitMs, tries }) => [waitMs, tries]),
    [
      [1000, 1],
      [600, 0],
    ],
    'onWait tells of both',
  )
  await client.unary({})
  t.equal(waits.length, 2, 'nothing holds back afterwards')
})

t.test('by default, and with false, they do not', async (t) => {
  for (const holdBack of [undefined, false]) {
    const { client, seen, clock } = clientOf([rejection(1000)], { holdBack })
    const first = client.unary({})
    await clock.waiting()
    await client.unary({})
    t.equal(seen.length, 2)
    clock.advance(1000)
    await first
  }
})

t.test('other methods do not hold back', async (t) => {
  const { client, clock } = clientOf([rejection(1000)], { holdBack: true })
  const first = client.unary({})
  await clock.waiting()
  await client.undeclared({})
  t.equal(clock.timers.length, 1)
  clock.advance(1000)
  await first
})

t.test('a function says which calls are charged in the category', async (t) => {
  const asked: unknown[] = []
  const { client, clock } = clientOf([rejection(1000, 'identity_update')], {
    holdBack: (request, category) => {
      asked.push(category)
      return !request.stream && (request.message as unknown as { items: string[] }).items.includes('identity')
    },
  })
  const first = client.unary({ items: ['identity'] })
  await clock.waiting()
  await client.unary({ items: ['other'] })
  const third = client.unary({ items: ['identity'] })
  await clock.waiting(2)
  t.same(asked, ['identity_update', 'identity_update'])
  clock.advance(1000)
  await Promise.all([first, third])
})

t.test('a rejection that is handed on holds back too; a stream that fails, and one that is opened', async (t) => {
  for (const script of [[rejection(500)], [['one', rejection(500)]]] as Step[][]) {
    const { client, seen, clock } = clientOf(script, { holdBack: true, maxTries: 1 })
    t.equal(retryDelayOf(await outcome(streamOf(client))), 500)
    const second = streamOf(client)
    await clock.waiting()
    t.same(clock.timers, [500])
    t.equal(seen.length, 1)
    clock.advance(500)
    await second
    t.equal(seen.length, 2)
  }
})

t.test('the rejection of a call that was held back holds back too', async (t) => {
  const { client, seen, clock } = clientOf([rejection(1000), rejection(1000)], { holdBack: true, maxTries: 1 })
  await outcome(client.unary({}))
  const second = client.unary({})
  await clock.waiting()
  clock.advance(1000)
  t.equal(retryDelayOf(await outcome(second)), 1000)
  const third = client.unary({})
  await clock.waiting()
  clock.advance(1000)
  t.equal((await third).text, 'call 3')
  t.equal(seen.length, 3)
})

t.test('held calls hold on when the delay becomes longer', async (t) => {
  const { client, seen, clock } = clientOf([rejection(1000), rejection(3000)], {
    holdBack: (request) => !request.header.has('x-urgent'),
    maxTries: 1,
  })
  await outcome(client.unary({}))
  const held = client.unary({})
  await clock.waiting()
  t.equal(retryDelayOf(await outcome(client.unary({}, { headers: { 'x-urgent': '1' } }))), 3000)
  clock.advance(2999)
  await settled()
  t.equal(seen.length, 2)
  clock.advance(1)
  await held
  t.equal(seen.length, 3)
})

t.test('rejections of another domain hold nothing back', async (t) => {
  const other = errorWith(errorInfo({ domain: 'example.com' }), retryInfo(1000))
  const { client, clock } = clientOf([other], { holdBack: true })
  await outcome(client.unary({}))
  await client.unary({})
  t.same(clock.timers, [])
})

t.test(
  'RATE-041: a call that cannot hold back so long fails at once, unsent, with the delay that is left',
  async (t) => {
    const { client, seen, clock } = clientOf([rejection(60_001.5, 'publish')], { holdBack: true })
    t.equal(retryDelayOf(await outcome(client.unary({}))), 60_002)
    clock.advance(1.25)
    const held = await outcome(client.unary({}))
    t.same(rejectionOf(held, domain), { domain, category: 'publish', retryDelayMs: 60_001 }, 'rounded up')
    t.match(held, { code: Code.ResourceExhausted, rawMessage: /^held back and not sent/ })
    t.equal(retryDelayOf(await outcome(client.unary({}, { timeoutMs: 20_000 }))), 60_001)
    t.equal(seen.length, 1)
    t.same(clock.timers, [])

    clock.advance(2)
    const waiting = client.unary({})
    await clock.waiting()
    clock.advance(60_000)
    t.equal((await waiting).text, 'call 2')
  },
)

t.test('what is sent again holds back too, for what was denied in the meantime', async (t) => {
  const { client, seen, clock } = clientOf([rejection(1000), rejection(5000)], {
    holdBack: (request) => !request.header.has('x-urgent'),
  })
  const first = client.unary({})
  await clock.waiting()
  const urgent = outcome(client.unary({}, { headers: { 'x-urgent': '1' }, timeoutMs: 100 }))
  t.equal(retryDelayOf(await urgent), 5000)
  clock.advance(1000)
  await clock.waiting()
  t.same(clock.timers, [4000])
  t.equal(seen.length, 2)
  clock.advance(4000)
  t.equal((await first).text, 'call 3')
})

t.test('an abort ends the holding back', async (t) => {
  const { client, seen, clock } = clientOf([rejection(1000)], { holdBack: true, maxTries: 1 })
  await outcome(client.unary({}))
  const abort = new AbortController()
  const call = outcome(client.unary({}, { signal: abort.signal }))
  await clock.waiting()
  abort.abort()
  t.match(await call, { code: Code.Canceled })
  t.same(clock.timers, [])
  t.equal(seen.length, 1)
})

t.test('what was held back says how much time is left', async (t) => {
  const { client, seen, clock } = clientOf([rejection(1000), rejection(1000)], { holdBack: true, maxTries: 1 })
  await outcome(client.unary({}))
  await outcome(streamOf(client))
  const held = [client.unary({}, { timeoutMs: 5000 }), streamOf(client, { timeoutMs: 6000 })]
  await clock.waiting(2)
  clock.advance(1000)
  await Promise.all(held)
  t.same(
    seen
      .slice(2)
      .map(({ header }) => header.get('connect-timeout-ms'))
      .sort(),
    ['4000', '5000'],
  )
})

t.test('of the delays of a method, the one that ends last counts, and none when it is over', async (t) => {
  const held = new HeldMethods()
  const says = (category: string, retryDelayMs: number | undefined) => ({ domain, category, retryDelayMs })
  const longest = (now: number, applies: (category: string) => boolean = () => true) =>
    held.longest('m', now, applies)?.until
  t.equal(longest(0), undefined)
  held.hold('m', says('a', 100), 0)
  held.hold('m', says('b', 50), 0)
  held.hold('m', says('a', 20), 30)
  held.hold('m', says('c', 0), 0)
  held.hold('m', says('d', undefined), 0)
  t.equal(longest(0), 100)
  t.equal(
    longest(0, (category) => category !== 'a'),
    50,
  )
  t.equal(
    longest(50, (category) => category !== 'a'),
    undefined,
  )
  t.equal(longest(99.9), 100)
  t.equal(longest(100), undefined)
})

t.test('delays that have passed are forgotten, and so are categories without end', async (t) => {
  const held = new HeldMethods()
  const hold = (method: string, category: string, now: number) =>
    held.hold(method, rejectionOf(rejection(1000, category))!, now)
  for (let i = 0; i < 1000; i++) hold(`/${i}`, 'request', 0)
  t.equal(held.size, 1000)
  hold('/again', 'request', 2000)
  t.equal(held.size, 1)
  for (let i = 0; i < 1000; i++) hold('/again', `category ${i}`, 2000)
  t.equal(held.size, 100)
})

t.test('a delay beyond all time holds back with a rejection that can be read and sent', async (t) => {
  const for2To63 = { desc: RetryInfoSchema, value: { retryDelay: { seconds: 2n ** 63n - 1n } } }
  const { client, seen } = clientOf([errorWith(errorInfo(), for2To63)], { holdBack: true })
  await outcome(client.unary({}))
  const second = await outcome(client.unary({}))
  t.equal(seen.length, 1)
  t.equal(retryDelayOf(second), 315_576_000_000_000)
  t.doesNotThrow(() => errorToJson(second as ConnectError, undefined))
})
