import { Code, ConnectError } from '@connectrpc/connect'
import t from 'tap'
import { type ReopeningOptions, reopening, retryDelayOf, type Wait } from '../../src/client/index.ts'
import { manualClientClock, settled } from '../support/client-clock.ts'
import { domain, errorInfo, errorWith, outcome, rejection, retryInfo } from '../support/scripted-server.ts'

type Opening = readonly (string | ConnectError)[] | ConnectError

/** Streams of texts by a script, and what `reopening` makes of them. What is left over delivers nothing and ends. */
const reopeningOf = (script: readonly Opening[], options: Partial<ReopeningOptions> = {}) => {
  const clock = manualClientClock()
  const signals: AbortSignal[] = []
  const closed: string[] = []
  const received: string[] = []
  async function* texts(opening: readonly (string | ConnectError)[], number: number) {
    try {
      for (const what of opening) {
        if (what instanceof ConnectError) throw what
        yield what
      }
    } finally {
      closed.push(`stream ${number}`)
    }
  }
  const stream = reopening(
    (signal) => {
      const opening = script[signals.length] ?? []
      signals.push(signal)
      if (opening instanceof ConnectError) throw opening
      return texts(opening, signals.length)
    },
    { domain, clock, jitterMs: 0, ...options },
  )
  const all = async () => {
    for await (const text of stream) received.push(text)
    return 'ended'
  }
  return { stream, clock, signals, closed, received, all }
}

t.test(
  'RATE-041: a stream is opened again once the delay has passed and no earlier, and delivers everything',
  async (t) => {
    const { all, clock, signals, received } = reopeningOf([
      ['one', 'two', rejection(1500)],
      rejection(700),
      ['three', rejection(10)],
      ['four'],
    ])
    const ending = all()
    let openings = 1
    for (const delay of [1500, 700, 10]) {
      await clock.waiting()
      clock.advance(delay - 0.25)
      await settled()
      t.equal(signals.length, openings, 'not yet')
      clock.advance(0.25)
      await settled()
      openings += 1
      t.equal(signals.length, openings)
    }
    t.equal(await ending, 'ended')
    t.same(received, ['one', 'two', 'three', 'four'], 'all of it, and nothing twice')
    t.same(clock.timers, [])
  },
)

t.test('other errors are handed on at once', async (t) => {
  const errors = [
    new ConnectError('down', Code.Unavailable),
    new ConnectError('too large', Code.ResourceExhausted),
    errorWith(errorInfo({ domain: 'example.com' }), retryInfo(5)),
    errorWith(retryInfo(5)),
  ]
  for (const error of errors) {
    for (const opening of [error, ['one', error]]) {
      const { all, signals, clock } = reopeningOf([opening])
      t.equal(await outcome(all()), error)
      t.equal(signals.length, 1)
      t.same(clock.timers, [])
    }
  }
})

t.test('gives up after maxTries without a message in between', async (t) => {
  const { all, clock, signals } = reopeningOf([rejection(1), ['one', rejection(2)], rejection(3), [rejection(4)]])
  const ending = outcome(all())
  for (const delay of [1, 2, 3]) {
    await clock.waiting()
    clock.advance(delay)
  }
  t.equal(retryDelayOf(await ending), 4)
  t.equal(signals.length, 4)
})

t.test('or when the delay does not fit in maxWaitMs, which starts anew with a message too', async (t) => {
  const { all, clock, signals } = reopeningOf([rejection(600), ['one', rejection(600)], rejection(401)], {
    maxWaitMs: 1000,
  })
  const ending = outcome(all())
  for (const delay of [600, 600]) {
    await clock.waiting()
    clock.advance(delay)
  }
  t.equal(retryDelayOf(await ending), 401)
  t.equal(signals.length, 3)
})

t.test('the app gives up by throwing an error of its own from open, which may count what it likes', async (t) => {
  const mine = new Error('five times started, nothing read')
  const clock = manualClientClock()
  let openings = 0
  const stream = reopening(
    async function* () {
      if (++openings > 5) throw mine
      yield 'started'
      throw rejection(5)
    },
    { domain, clock, jitterMs: 0 },
  )
  const ending = outcome(
    (async () => {
      for await (const _ of stream);
    })(),
  )
  for (let opening = 1; opening <= 5; opening++) {
    await clock.waiting()
    clock.advance(5)
  }
  t.equal(await ending, mine)
})

t.test('case 4: without a delay it backs off, longer each time, greeting or not', async (t) => {
  const never = ['started', errorWith(errorInfo())] as const
  const { all, clock } = reopeningOf([never, never, never, never])
  const ending = all()
  for (const wait of [100, 200, 400, 800]) {
    await clock.waiting()
    t.same(clock.timers, [wait])
    clock.advance(wait)
  }
  t.equal(await ending, 'ended')
})

t.test('an abort ends a wait at once as canceled, and nothing is opened again', async (t) => {
  const abort = new AbortController()
  const { all, clock, signals } = reopeningOf([['one', rejection(5000)]], { signal: abort.signal })
  const ending = outcome(all())
  await clock.waiting()
  abort.abort()
  t.match(await ending, { code: Code.Canceled })
  t.same(clock.timers, [])
  clock.advance(10_000)
  await settled()
  t.equal(signals.length, 1)

  const before = reopeningOf([['one']], { signal: AbortSignal.abort() })
  t.match(await outcome(before.all()), { code: Code.Canceled })
  t.equal(before.signals.length, 0, 'nor is anything opened when it was aborted before')
})

t.test('an abort reaches the stream that is open, and no listener is left', async (t) => {
  const abort = new AbortController()
  let listeners = 0
  const { addEventListener, removeEventListener } = abort.signal
  abort.signal.addEventListener = function (...listener: Parameters<typeof addEventListener>) {
    listeners += 1
    addEventListener.apply(this, listener)
  }
  abort.signal.removeEventListener = function (...listener: Parameters<typeof removeEventListener>) {
    listeners -= 1
    removeEventListener.apply(this, listener)
  }
  const { stream, signals } = reopeningOf([['one', 'two']], { signal: abort.signal })
  await stream.next()
  t.equal(listeners, 1)
  abort.abort('enough')
  t.ok(signals[0]!.aborted)
  t.equal(signals[0]!.reason, 'enough')
  await stream.return?.()
  t.equal(listeners, 0)
})

t.test('leaving the loop closes the stream that is open', async (t) => {
  const { stream, signals, closed } = reopeningOf([['one', 'two']])
  for await (const _ of stream) break
  t.ok(signals[0]!.aborted)
  t.same(closed, ['stream 1'])
  t.same(await stream.next(), { done: true, value: undefined })
})

t.test('return() ends a wait at once', async (t) => {
  const { stream, clock, signals } = reopeningOf([[rejection(5000)]])
  const pending = stream.next()
  await clock.waiting()
  t.same(await stream.return?.(), { done: true, value: undefined })
  t.same(await pending, { done: true, value: undefined }, 'and what was asked for before')
  t.same(clock.timers, [])
  t.equal(signals.length, 1)
})

t.test('return() while a message is awaited closes the stream', async (t) => {
  let closed = false
  const stream = reopening(
    async function* (signal): AsyncGenerator<string> {
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('closed'))))
      closed = true
    },
    { domain },
  )
  const pending = stream.next()
  await settled()
  t.same(await stream.return?.(), { done: true, value: undefined })
  t.same(await pending, { done: true, value: undefined })
  t.notOk(closed, 'by its signal')
})

t.test('return() before anything was asked for opens nothing', async (t) => {
  const { stream, signals } = reopeningOf([['one']])
  t.same(await stream.return?.(), { done: true, value: undefined })
  t.same(await stream.next(), { done: true, value: undefined })
  t.equal(signals.length, 0)
})

t.test(
  'open may be async; nothing is opened before the first message is asked for; onWait tells of each wait',
  async (t) => {
    let opened = 0
    const waits: Wait[] = []
    const clock = manualClientClock()
    const stream = reopening(
      async () => {
        opened += 1
        if (opened === 1) throw rejection(5, 'stream_rent')
        return (async function* () {
          yield 'one'
        })()
      },
      { domain, clock, jitterMs: 0, onWait: (wait) => waits.push(wait) },
    )
    await settled()
    t.equal(opened, 0)
    const first = stream.next()
    await clock.waiting()
    clock.advance(5)
    t.same(await first, { done: false, value: 'one' })
    t.same(waits, [{ rejection: { domain, category: 'stream_rent', retryDelayMs: 5 }, waitMs: 5, tries: 1 }])
  },
)
