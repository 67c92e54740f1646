import t from 'tap'
import {
  type RateLimitInterceptorOptions,
  type ReopeningOptions,
  rateLimitInterceptor,
  reopening,
} from '../../src/client/index.ts'
import { manualClock } from '../../src/index.ts'

const open = async function* () {}

t.test('options that are wrong are refused, with path, value and what is allowed', async (t) => {
  const rows: [option: string, value: unknown, message: string][] = [
    ['domain', undefined, 'options.domain: is missing; must be a name such as "example.com", got undefined'],
    ['domain', '', 'options.domain: must be a name such as "example.com", got ""'],
    ['domain', 7, 'options.domain: must be a name such as "example.com", got 7'],
    ['maxTries', 0, 'options.maxTries: must be a whole number, 1 or more, got 0'],
    ['maxTries', 1.5, 'options.maxTries: must be a whole number, 1 or more, got 1.5'],
    ['maxTries', '3', 'options.maxTries: must be a whole number, 1 or more, got "3"'],
    ['maxWaitMs', -1, 'options.maxWaitMs: must be a number of milliseconds, 0 or more, got -1'],
    ['maxWaitMs', Number.NaN, 'options.maxWaitMs: must be a number of milliseconds, 0 or more, got NaN'],
    ['jitterMs', -1, 'options.jitterMs: must be a number of milliseconds, 0 or more and finite, got -1'],
    ['jitterMs', Infinity, 'options.jitterMs: must be a number of milliseconds, 0 or more and finite, got Infinity'],
    ['backoffMs', 0, 'options.backoffMs: must be a number of milliseconds, 1 or more and finite, got 0'],
    [
      'clock',
      {},
      'options.clock: must be an object with the methods now, which returns a number, and schedule, got an object',
    ],
    [
      'clock',
      null,
      'options.clock: must be an object with the methods now, which returns a number, and schedule, got null',
    ],
    ['onWait', 'log', 'options.onWait: must be a function, got "log"'],
  ]
  for (const [option, value, message] of rows) {
    const options = { domain: 'example.com', [option]: value } as unknown as RateLimitInterceptorOptions
    t.throws(() => rateLimitInterceptor(options), { name: 'TypeError', message })
    t.throws(() => reopening(open, options as ReopeningOptions), { name: 'TypeError', message })
  }
  const wrong = (options: object, message: string) => {
    t.throws(() => rateLimitInterceptor(options as RateLimitInterceptorOptions), { name: 'TypeError', message })
  }
  wrong({ domain: 'a', holdBack: 1 }, 'options.holdBack: must be true, false or a function, got 1')
  wrong(
    { domain: 'a', maxWait: 1, max_tries: 2 },
    [
      'options.maxWait: unknown key; known keys: domain, maxTries, maxWaitMs, jitterMs, backoffMs, clock, holdBack, onWait',
      'options.max_tries: unknown key; known keys: domain, maxTries, maxWaitMs, jitterMs, backoffMs, clock, holdBack, onWait',
    ].join('\n'),
  )
  for (const options of [undefined, null, 'a']) {
    t.throws(() => rateLimitInterceptor(options as never), {
      name: 'TypeError',
      message: /^options: must be an object/,
    })
  }
  t.throws(() => reopening(open, { domain: 'a', signal: {} as AbortSignal }), {
    message: /^options.signal: must be an AbortSignal/,
  })
})

t.test('options that are left out, or undefined, are fine', async (t) => {
  t.ok(rateLimitInterceptor({ domain: 'a' }))
  t.ok(rateLimitInterceptor({ domain: 'a', maxWaitMs: Infinity, maxTries: undefined, holdBack: undefined }))
  t.ok(reopening(open, Object.freeze({ domain: 'a', signal: undefined })))
})

t.test('a stream in place of the function that opens it is refused', async (t) => {
  for (const wrong of [open(), undefined, 'watch']) {
    t.throws(() => reopening(wrong as never, { domain: 'a' }), {
      name: 'TypeError',
      message: /^open: must be a function, such as \(signal\) => /,
    })
  }
})

t.test("the server's clock is no client's clock", async (t) => {
  t.throws(() => rateLimitInterceptor({ domain: 'a', clock: manualClock() as never }), {
    message: /^options.clock: must be/,
  })
})
