import { Code, ConnectError, type Interceptor } from '@connectrpc/connect'
import t from 'tap'
import {
  type RateLimitInterceptorOptions,
  rateLimitInterceptor,
  retryDelayOf,
  type Wait,
} from '../../src/client/index.ts'
import { manualClientClock, settled } from '../support/client-clock.ts'
import {
  broken,
  domain,
  errorInfo,
  errorWith,
  outcome,
  rejection,
  retryInfo,
  type Step,
  scriptedServer,
} from '../support/scripted-server.ts'

const clientOf = (script: Step[], options: Partial<RateLimitInterceptorOptions> = {}, more: Interceptor[] = []) => {
  const clock = manualClientClock()
  const interceptor = rateLimitInterceptor({ domain, clock, jitterMs: 0, ...options })
  return { clock, ...scriptedServer(script, [interceptor, ...more]) }
}

t.test(
  'RATE-041: a unary call is sent again as it was, unsplit, once the delay has passed and no earlier',
  async (t) => {
    const { client, seen, clock } = clientOf([rejection(1500)])
    const call = client.unary({ items: ['one', 'two'] }, { headers: { 'x-caller': 'me' } })
    await clock.waiting()
    clock.advance(1499.75)
    await settled()
    t.equal(seen.length, 1, 'not yet')
    clock.advance(0.25)
    t.equal((await call).text, 'call 2')
    t.same(
      seen.map(({ message, header }) => [message.items, header.get('x-caller')]),
      [
        [['one', 'two'], 'me'],
        [['one', 'two'], 'me'],
      ],
    )
    t.same(clock.timers, [])
  },
)

t.test('RATE-041: jitter only makes it later', async (t) => {
  const waitsOf = async (delayMs: number, options: Partial<RateLimitInterceptorOptions>) => {
    const waits: number[] = []
    for (let run = 0; run < 60; run++) {
      const { client, clock } = clientOf([rejection(delayMs)], {
        ...options,
        onWait: ({ waitMs }) => waits.push(waitMs),
      })
      const call = client.unary({})
      await clock.waiting()
      t.same(clock.timers, [Math.ceil(waits.at(-1)!)])
      clock.advance(Math.ceil(waits.at(-1)!))
      await call
    }
    return [Math.min(...waits), Math.max(...waits)] as const
  }
  const within = async (delayMs: number, jitterMs: number, options: Partial<RateLimitInterceptorOptions>) => {
    const [least, most] = await waitsOf(delayMs, options)
    t.ok(least >= delayMs && least < delayMs + jitterMs / 3, `from ${delayMs}: ${least}`)
    t.ok(most <= delayMs + jitterMs && most > delayMs + (jitterMs * 2) / 3, `to ${delayMs + jitterMs}: ${most}`)
  }
  await within(2000, 500, { jitterMs: 500 })
  await within(2000, 200, { jitterMs: undefined })
  await within(50_000, 1000, { jitterMs: undefined })
  await within(2000, 300, { jitterMs: 5000, maxWaitMs: 2300 }) // spread over the time that there is, not heaped at its end
})

t.test('case 5, RATE-041: what is no rejection of its domain is handed on at once', async (t) => {
  const errors = [
    new ConnectError('too large', Code.ResourceExhausted),
    errorWith(errorInfo({ domain: 'example.com' }), retryInfo(5000)),
    errorWith(errorInfo({ reason: 'QUOTA' }), retryInfo(5000)),
    errorWith(retryInfo(5000)),
    errorWith(broken(errorInfo()), retryInfo(5000)),
    new ConnectError('down', Code.Unavailable),
  ]
  for (const error of errors) {
    const { client, seen, clock } = clientOf([error])
    const thrown = await outcome(client.unary({}))
    t.ok(thrown instanceof ConnectError && thrown.code === error.code && thrown.rawMessage === error.rawMessage)
    t.equal(seen.length, 1)
    t.same(clock.timers, [])
  }
})

t.test('case 5: details in any order, and one that cannot be decoded', async (t) => {
  const errors = [
    errorWith(retryInfo(5000), errorInfo()),
    errorWith(broken(retryInfo(1)), retryInfo(5000), broken(errorInfo()), errorInfo()),
  ]
  for (const error of errors) {
    const { client, clock } = clientOf([error])
    const call = client.unary({})
    await clock.waiting()
    t.same(clock.timers, [5000])
    clock.advance(5000)
    t.equal((await call).text, 'call 2')
  }
})

t.test('case 4: no RetryInfo, 0 s and −1 s set no minimum wait, but are backed off from', async (t) => {
  for (const error of [errorWith(errorInfo()), rejection(0), rejection(-1000)]) {
    const { client, seen, clock } = clientOf([error, error, error])
    const call = outcome(client.unary({}))
    for (const wait of [100, 200]) {
      await clock.waiting()
      t.same(clock.timers, [wait])
      clock.advance(wait)
    }
    t.ok((await call) instanceof ConnectError)
    t.equal(seen.length, 3, 'as often as maxTries says')
  }
})

t.test('the backoff doubles up to 10 s, and starts anew after a delay', async (t) => {
  const none = errorWith(errorInfo())
  const script = [none, none, none, none, rejection(7), none]
  const { client, clock } = clientOf(script, { maxTries: 9, backoffMs: 3000 })
  const call = client.unary({})
  for (const wait of [3000, 6000, 10_000, 10_000, 7, 3000]) {
    await clock.waiting()
    t.same(clock.timers, [wait])
    clock.advance(wait)
  }
  t.equal((await call).text, 'call 7')
})

t.test('no more than maxTries, then the last rejection is handed on with its delay', async (t) => {
  for (const maxTries of [1, 2, 5]) {
    const script = Array.from({ length: 9 }, (_, index) => rejection(10 + index))
    const { client, seen, clock } = clientOf(script, { maxTries })
    const call = outcome(client.unary({}))
    for (let tries = 1; tries < maxTries; tries++) {
      await clock.waiting()
      clock.advance(100)
    }
    t.equal(retryDelayOf(await call), 9 + maxTries)
    t.equal(seen.length, maxTries)
    t.same(clock.timers, [])
  }
})

t.test('maxWaitMs is for all waits of a call, and a delay that does not fit is handed on at once', async (t) => {
  const { client, seen, clock } = clientOf([rejection(600), rejection(401)], { maxWaitMs: 1000 })
  const call = outcome(client.unary({}))
  await clock.waiting()
  clock.advance(600)
  t.equal(retryDelayOf(await call), 401)
  t.equal(seen.length, 2)

  const fits = clientOf([rejection(600), rejection(400)], { maxWaitMs: 1000 })
  const second = fits.client.unary({})
  for (const wait of [600, 400]) {
    await fits.clock.waiting()
    fits.clock.advance(wait)
  }
  t.equal((await second).text, 'call 3')

  const byDefault = clientOf([rejection(60_001)])
  t.equal(retryDelayOf(await outcome(byDefault.client.unary({}))), 60_001)
  const none = clientOf([errorWith(errorInfo())], { maxWaitMs: 0 })
  t.ok((await outcome(none.client.unary({}))) instanceof ConnectError)
  t.equal(none.seen.length, 1)
})

t.test('case 4: an abort ends the wait at once as canceled, and nothing is sent again', async (t) => {
  const { client, seen, clock } = clientOf([rejection(5000)])
  const abort = new AbortController()
  const call = outcome(client.unary({}, { signal: abort.signal }))
  await clock.waiting()
  clock.advance(100)
  abort.abort()
  const error = await call
  t.ok(error instanceof ConnectError && error.code === Code.Canceled)
  t.same(clock.timers, [])
  clock.advance(10_000)
  await settled()
  t.equal(seen.length, 1)
})

t.test('case 4: a delay beyond the deadline is handed on at once', async (t) => {
  const { client, seen, clock } = clientOf([rejection(5000)])
  const error = await outcome(client.unary({}, { timeoutMs: 1000 }))
  t.equal(retryDelayOf(error), 5000, 'so that the app can show the delay')
  t.equal(seen.length, 1)
  t.same(clock.timers, [])
})

t.test('case 4: a deadline that passes during the wait ends it', async (t) => {
  // The client's clock stands still, the deadline is Connect's own.
  const { client, seen, clock } = clientOf([rejection(50)])
  const error = await outcome(client.unary({}, { timeoutMs: 60 }))
  t.ok(error instanceof ConnectError && error.code === Code.DeadlineExceeded)
  t.same(clock.timers, [])
  t.equal(seen.length, 1)
})

t.test('what is sent again says how much time is left', async (t) => {
  const { client, seen, clock } = clientOf([rejection(1500.5)])
  const call = client.unary({}, { timeoutMs: 10_000 })
  await clock.waiting()
  clock.advance(1501.5)
  await call
  t.same(
    seen.map(({ header }) => header.get('connect-timeout-ms')),
    ['10000', '8499'],
  )
})

t.test('each try gets a request of its own from the interceptors that stand after', async (t) => {
  const sent: (string | null)[] = []
  const appends: Interceptor = (next) => async (request) => {
    request.header.append('x-trace', 'a')
    sent.push(request.header.get('x-trace'))
    return next(request)
  }
  const { client, clock } = clientOf([rejection(1)], {}, [appends])
  const call = client.unary({})
  await clock.waiting()
  clock.advance(1)
  await call
  t.same(sent, ['a', 'a'])
})

t.test('onWait tells of each wait, and fails the call when it throws', async (t) => {
  const waits: [Wait, string][] = []
  const { client, clock } = clientOf([rejection(7, 'publish'), errorWith(errorInfo())], {
    onWait: (wait, request) => waits.push([wait, request.method.name]),
  })
  const call = client.unary({})
  for (const wait of [7, 100]) {
    await clock.waiting()
    clock.advance(wait)
  }
  await call
  t.same(waits, [
    [{ rejection: { domain, category: 'publish', retryDelayMs: 7 }, waitMs: 7, tries: 1 }, 'Unary'],
    [{ rejection: { domain, category: 'request', retryDelayMs: undefined }, waitMs: 100, tries: 2 }, 'Unary'],
  ])

  const failing = clientOf([rejection(7)], {
    onWait: () => {
      throw new ConnectError('mine', Code.Internal)
    },
  })
  t.match(await outcome(failing.client.unary({})), { rawMessage: 'mine' })
  t.same(failing.clock.timers, [])
})

t.test('RATE-041: a stream is never sent again', async (t) => {
  for (const script of [[rejection(5)], [['one', rejection(5)]]] as Step[][]) {
    for (const holdBack of [false, true]) {
      const { client, seen, clock } = clientOf(script, { holdBack })
      const received: string[] = []
      const error = await outcome(
        (async () => {
          for await (const { text } of client.serverStream({})) received.push(text)
        })(),
      )
      t.equal(retryDelayOf(error), 5)
      t.same(received, script[0] instanceof ConnectError ? [] : ['one'])
      t.equal(seen.length, 1)
      t.same(clock.timers, [])
    }
  }
})
