import t from 'tap'
import allowance, { AllowanceOptionsError, createLimiter, manualClock } from '../src/index.ts'
import { MatrixService } from './gen/test/v1/matrix_pb.ts'
import { createFastify } from './support/matrix-app.ts'

const domain = 'xmtp.org'
const small = { maxMemoryMib: 1 }

/** What the start says of these options: `started`, or the message of its AllowanceOptionsError. */
const startWith = async (options: unknown): Promise<string> => {
  const app = createFastify(false)
  try {
    await app.register(allowance, options as never)
    await app.ready()
    return 'started'
  } catch (error) {
    if (!(error instanceof AllowanceOptionsError)) throw error
    return error.message
  } finally {
    await app.close().catch(() => {})
  }
}

t.test('a wrong option stops the start with its path, its value and what is allowed', async (t) => {
  const name = 'must be a name such as "example.com", of visible ASCII characters'
  const ticking = (now: () => unknown) => ({ now, wall: () => 0, schedule: () => () => {} })
  const limiter = createLimiter({ rateLimits: small })
  const rows: [string, unknown, string][] = [
    ['no options', {}, `options.domain: is missing; ${name}`],
    ['no domain', { rateLimits: small }, `options.domain: is missing; ${name}`],
    ['an empty domain', { domain: '' }, `options.domain: ${name}, got ""`],
    ['a domain that is no text', { domain: 7 }, `options.domain: ${name}, got 7`],
    ['a blank domain', { domain: ' ' }, `options.domain: ${name}, got " "`],
    ['a domain with a space', { domain: 'xmtp org' }, `options.domain: ${name}, got "xmtp org"`],
    ['a domain with a line break', { domain: 'a\r\nb' }, `options.domain: ${name}, got "a\\r\\nb"`],
    ['a domain that ends in a line break', { domain: 'a\n' }, `options.domain: ${name}, got "a\\n"`],
    ['a domain with a control character', { domain: 'a\u0000' }, `options.domain: ${name}, got "a\\u0000"`],
    ['a domain with half a character', { domain: 'a\ud800' }, `options.domain: ${name}, got "a\\ud800"`],
    ['a domain that is not ASCII', { domain: 'bücher.example' }, `options.domain: ${name}, got "bücher.example"`],
    ['a function of wrong options', () => ({ domain: '' }), `options.domain: ${name}, got ""`],
    [
      'identify that is no function',
      { domain, identify: 'me' },
      'options.identify: must be a function of the request, got "me"',
    ],
    [
      'onDenied that is no function',
      { domain, onDenied: {} },
      'options.onDenied: must be a function of the denial and the request, got {}',
    ],
    [
      'a clock that is none',
      { domain, clock: { now: () => 0n } },
      'options.clock: must be an object with the methods now, wall and schedule, got { now: [Function: now] }',
    ],
    [
      'a clock that counts in numbers',
      { domain, clock: ticking(() => 5) },
      'options.clock.now: must return a bigint of nanoseconds, got 5',
    ],
    [
      'a clock that counts nothing',
      { domain, clock: ticking(() => undefined) },
      'options.clock.now: must return a bigint of nanoseconds, got undefined',
    ],
    [
      'a clock that throws',
      {
        domain,
        clock: ticking(() => {
          throw new Error('no time')
        }),
      },
      'options.clock.now: must return a bigint of nanoseconds, threw "no time"',
    ],
    [
      'a limiter that is none',
      { domain, limiter: {} },
      'options.limiter: must be a limiter made by createLimiter, got {}',
    ],
    [
      'a limiter and limits',
      { domain, limiter, rateLimits: small },
      'options.rateLimits: cannot stand beside limiter, which has its own',
    ],
    [
      'a limiter and a clock',
      { domain, limiter, clock: manualClock() },
      'options.clock: cannot stand beside limiter, which has its own',
    ],
    [
      'a negative maxDiscardBytes',
      { domain, maxDiscardBytes: -1 },
      'options.maxDiscardBytes: must be a whole number from 0 to 9007199254740991, got -1',
    ],
    [
      'a broken maxDiscardBytes',
      { domain, maxDiscardBytes: 1.5 },
      'options.maxDiscardBytes: must be a whole number from 0 to 9007199254740991, got 1.5',
    ],
    [
      'maxDiscardBytes with a unit',
      { domain, maxDiscardBytes: '1mb' },
      'options.maxDiscardBytes: must be a whole number from 0 to 9007199254740991, got "1mb"',
    ],
    [
      'discardTimeoutMs 0',
      { domain, discardTimeoutMs: 0 },
      'options.discardTimeoutMs: must be a whole number from 1 to 2147483647, got 0',
    ],
    [
      'discardTimeoutMs for ever',
      { domain, discardTimeoutMs: Number.POSITIVE_INFINITY },
      'options.discardTimeoutMs: must be a whole number from 1 to 2147483647, got Infinity',
    ],
    [
      'a discardTimeoutMs beyond what timers take',
      { domain, discardTimeoutMs: 2 ** 31 },
      'options.discardTimeoutMs: must be a whole number from 1 to 2147483647, got 2147483648',
    ],
    ['charges that are no list', { domain, charges: {} }, 'charges: must be a list, got {}'],
    [
      'a limit that is none',
      { domain, rateLimits: { categories: { request: { default: [{ count: 0, windowSeconds: 60 }] } } } },
      'rateLimits.categories.request.default[0].count: must be a whole number from 1 to 1000000000, got 0',
    ],
    [
      'two mistakes',
      { domain: '', maxDiscardBytes: -1 },
      `options.domain: ${name}, got ""\noptions.maxDiscardBytes: must be a whole number from 0 to 9007199254740991, got -1`,
    ],
  ]
  for (const [what, options, message] of rows) t.equal(await startWith(options), message, what)
})

t.test('an unknown option is refused by name, with what was probably meant', async (t) => {
  const known =
    'known keys: domain, rateLimits, limiter, identify, onDenied, charges, bounds, holds, routes, notFound, rateLimitHeaders, ' +
    'renderRejection, instances, streams, clock, maxDiscardBytes, discardTimeoutMs'
  t.equal(
    await startWith({ domain, rateLimit: small }),
    `options: unknown key "rateLimit" (did you mean "rateLimits"?); ${known}`,
  )
  t.match(await startWith({ domain, max: 100 }), `options: unknown key "max"`)
  t.match(await startWith({ domain, Domain: 'a' }), `options: unknown key "Domain"`)
})

t.test('the spelling of a config file is taken too, and options of Fastify itself', async (t) => {
  t.equal(await startWith({ domain, rate_limits: small, max_discard_bytes: 0, discard_timeout_ms: 1 }), 'started')
  t.equal(
    await startWith({ domain, rateLimits: small, prefix: '/api', logLevel: 'warn', logSerializers: {} }),
    'started',
  )
  t.equal(
    await startWith({ domain, rateLimits: { max_memory_mib: 1, trusted_proxies: ['unix'] }, identify: undefined }),
    'started',
  )
  t.match(
    await startWith({ domain, rate_limits: { max_memory_mib: 0 } }),
    /^rate_?[lL]imits\.max_memory_mib: must be a whole number from 1 to 4096, got 0$/,
  )
})

t.test('options in the spelling of a config file have their effect', async (t) => {
  const app = createFastify(false)
  t.teardown(() => app.close())
  const categories = { work: { default: [{ count: 3, window_seconds: 60 }] } }
  await app.register(allowance, { domain, rate_limits: { max_memory_mib: 1, categories } } as never)
  t.equal(app.allowance.limiter.remaining({ type: 'api_key', name: 'a' }, 'work')[0]!.units, 3)
})

t.test('connect() without a function of the router is refused, with its path', async (t) => {
  const app = createFastify(false)
  t.teardown(() => app.close())
  await app.register(allowance, { domain, rateLimits: small })
  const must = 'must be a function of the router'
  for (const [options, message] of [
    [undefined, `connect.routes: is missing; ${must}`],
    [null, `connect.routes: is missing; ${must}`],
    [{}, `connect.routes: is missing; ${must}`],
    [{ route: () => {} }, `connect.routes: is missing; ${must}`],
    [() => {}, `connect.routes: is missing; ${must}`],
    [{ routes: 5 }, `connect.routes: ${must}, got 5`],
    [{ routes: MatrixService }, `connect.routes: ${must}, got `],
  ] as const) {
    try {
      app.allowance.connect(options as never)
      t.fail(`accepted instead of: ${message}`)
    } catch (error) {
      t.ok((error as Error).message.startsWith(message), (error as Error).message)
      t.equal((error as { path?: string }).path, 'connect.routes')
    }
  }
})

t.test('the options are only read', async (t) => {
  const freeze = <T extends object>(value: T): T => {
    for (const part of Object.values(value)) if (typeof part === 'object' && part !== null) freeze(part)
    return Object.freeze(value)
  }
  const rateLimits = freeze({ ...small, categories: { work: { default: [{ count: 1, windowSeconds: 1 }] } } })
  const charges = Object.freeze([Object.freeze({ method: MatrixService.method.unary, free: true as const })])
  t.equal(await startWith(Object.freeze({ domain, rateLimits, charges: Object.freeze([]) })), 'started')
  t.match(
    await startWith(Object.freeze({ domain, rateLimits, charges })),
    /^charges\[0\]\.method: .* is not registered/,
  )
})

t.test('the defaults: the built-in categories and limits, and the clock of the system', async (t) => {
  const app = createFastify(false)
  t.teardown(() => app.close())
  await app.register(allowance, {
    domain,
    rateLimits: undefined,
    clock: undefined,
    limiter: undefined,
    charges: undefined,
  })
  const { limiter } = app.allowance
  const caller = { type: 'api_key', name: 'a' } as const
  t.match(limiter.remaining(caller, 'request'), [{ units: 6000 }, { units: 200_000 }])
  t.match(limiter.remaining(caller, 'stream_rent'), [{ units: 120 }])
  t.ok(limiter.stats().bytes <= 64 * 2 ** 20)
})

t.test('createLimiter refuses what it does not know, by name', async (t) => {
  const rows: [unknown, string][] = [
    [{ categories: {} }, 'options: unknown key "categories"; known keys: rateLimits, bounds, holds, clock'],
    [{ clock: { now: () => 0n } }, 'options.clock: must be an object with the methods now, wall and schedule, got '],
    [
      { clock: { now: () => 5, wall: () => 5, schedule: () => () => {} } },
      'options.clock.now: must return a bigint of nanoseconds, got 5',
    ],
    [null, 'options: must be an object with the keys rateLimits, bounds, holds, clock, got null'],
  ]
  for (const [options, message] of rows) {
    try {
      createLimiter(options as never)
      t.fail(`accepted instead of: ${message}`)
    } catch (error) {
      t.ok((error as Error).message.startsWith(message), (error as Error).message)
      t.equal((error as { code?: string }).code, 'ALLOWANCE_OPTIONS')
    }
  }
})
