import { Code, ConnectError } from '@connectrpc/connect'
import t from 'tap'
import allowance, { type AllowanceOptions, type Denial, manualClock } from '../src/index.ts'
import { apiKey, second } from './support/limiter-of.ts'
import {
  callerHeader,
  createFastify,
  domain,
  matrixApp,
  pathOf,
  rateLimits,
  type Teardown,
} from './support/matrix-app.ts'

/** An app with plain routes only. */
const plainApp = async (t: Teardown, more: Partial<AllowanceOptions> = {}) => {
  const clock = manualClock()
  const app = createFastify(false)
  t.teardown(() => app.close())
  const limits = rateLimits({ work: '2/3', step: '1/60' })
  await app.register(allowance, { domain, identify: callerHeader, clock, rateLimits: limits, ...more })
  app.post('/work', async (request) => {
    await request.spend('work', 1)
    return { caller: request.caller }
  })
  return { app, clock, limiter: app.allowance.limiter }
}

const as = (name: string) => ({ 'x-caller': name })

t.test('a plain route spends by request.spend, and a denial is answered with 429 and Retry-After', async (t) => {
  const { app, clock } = await plainApp(t)
  const post = () => app.inject({ method: 'POST', url: '/work', headers: as('a') })
  t.same((await post()).json(), { caller: { type: 'api_key', name: 'a' } })
  t.equal((await post()).statusCode, 200)

  const denied = await post()
  t.equal(denied.statusCode, 429)
  t.equal(denied.headers['retry-after'], '2', '1500 ms, rounded up')
  t.equal(denied.headers['content-type'], 'application/problem+json; charset=utf-8')
  t.match(denied.json(), {
    status: 429,
    'violated-policies': ['caller-work'],
    detail: /^Quota exceeded: caller-work\. Retry in 2 s\.$/,
  })
  t.notOk(denied.body.includes('"a"'))

  clock.advance(2n * second)
  t.equal((await post()).statusCode, 200, 'a client that waits that long is admitted')
  t.equal((await app.inject({ method: 'POST', url: '/work', headers: as('b') })).statusCode, 200, 'as is another')
})

t.test('a plain route is charged nothing that it does not spend', async (t) => {
  const { app, limiter } = await plainApp(t)
  app.get('/', async (request) => ({ caller: request.caller ?? 'nobody yet' }))
  const before = limiter.remaining(apiKey('a'), 'request')
  t.same((await app.inject({ url: '/', headers: as('a') })).json(), { caller: 'nobody yet' })
  await app.inject({ method: 'POST', url: '/work', headers: as('a') })
  t.same(limiter.remaining(apiKey('a'), 'request'), before)
})

t.test('request.caller is known in hooks after the charge of an RPC', async (t) => {
  const callers: unknown[] = []
  const { app } = await matrixApp(t, {
    before: (app) => {
      app.addHook('onRequest', async (request) => void callers.push(request.caller))
      app.addHook('preHandler', async (request) => void callers.push(request.caller))
      app.addHook('onResponse', async (request) => void callers.push(request.caller))
    },
  })
  const headers = { ...as('a'), 'content-type': 'application/json' }
  await app.inject({ method: 'POST', url: pathOf('Undeclared'), headers, payload: '{}' })
  t.same(callers, [undefined, apiKey('a'), apiKey('a')])
})

t.test('spends of one request made at once share its caller, which is asked for once', async (t) => {
  let asked = 0
  const { app, limiter } = await plainApp(t, {
    identify: async () => {
      asked++
      await new Promise(setImmediate)
      return apiKey('a')
    },
  })
  app.post('/both', async (request) => {
    await Promise.all([request.spend('work', 1), request.spend('step', 1)])
    return 'ok'
  })
  t.equal((await app.inject({ method: 'POST', url: '/both' })).statusCode, 200)
  t.equal(limiter.remaining(apiKey('a'), 'work')[0]!.units, 1)
  t.equal(limiter.remaining(apiKey('a'), 'step')[0]!.units, 0)
  t.equal(asked, 1)
})

t.test('request.spend of something impossible is an error of the app, and charges nothing', async (t) => {
  const { app, limiter } = await plainApp(t)
  app.post('/odd', async (request) => {
    const { category, cost } = request.body as { category: string; cost: number | string }
    await request.spend(category, cost === 'NaN' ? Number.NaN : (cost as number))
    return 'ok'
  })
  const rows = [
    ['wrok', 1, /category "wrok" is not declared/],
    ['__proto__', 1, /category "__proto__" is not declared/],
    ['work', -1, /cost must be a whole number from 0/],
    ['work', 0.5, /cost must be a whole number from 0/],
    ['work', 'NaN', /cost must be a whole number from 0/],
    ['work', 2 ** 53, /cost must be a whole number from 0/],
    ['work', '1', /cost must be a whole number from 0/],
  ] as const
  for (const [category, cost, message] of rows) {
    const answer = await app.inject({ method: 'POST', url: '/odd', headers: as('a'), payload: { category, cost } })
    t.equal(answer.statusCode, 500, `${category}, ${cost}`)
    t.match(answer.json().message, message)
  }
  t.equal(limiter.remaining(apiKey('a'), 'work')[0]!.units, 2)
  const free = await app.inject({
    method: 'POST',
    url: '/odd',
    headers: as('a'),
    payload: { category: 'work', cost: 0 },
  })
  t.equal(free.statusCode, 200, 'nothing is always admitted')
})

t.test('an authentication error of identify in a plain route has the status of its code', async (t) => {
  const { app } = await plainApp(t, {
    identify: () => {
      throw new ConnectError('no', Code.Unauthenticated, { 'www-authenticate': 'Bearer' })
    },
  })
  const answer = await app.inject({ method: 'POST', url: '/work' })
  t.equal(answer.statusCode, 401)
  t.equal(answer.headers['www-authenticate'], 'Bearer')
})

t.test('what identify throws that is no Error is shown to nobody', async (t) => {
  const secret = 'sk-secret'
  const ways: Record<string, AllowanceOptions['identify']> = {
    thrown: () => {
      throw secret
    },
    'thrown as an object': () => {
      throw { statusCode: 401, message: secret }
    },
    rejected: () => Promise.reject(secret),
    'rejected with nothing': () => Promise.reject(),
  }
  for (const [way, identify] of Object.entries(ways)) {
    const lines: string[] = []
    const { app } = await matrixApp(t, {
      fastify: { logger: { level: 'error', stream: { write: (line: string) => lines.push(line) } } },
      allowance: { identify },
      after: (app) => void app.post('/work', (request) => request.spend('work', 1)),
    })
    for (const url of ['/work', pathOf('Undeclared')]) {
      const headers = { 'content-type': 'application/json' }
      const answer = await app.inject({ method: 'POST', url, headers, payload: '{}' })
      t.equal(answer.statusCode, 500, `${way}: ${url}`)
      t.equal(answer.json().message, 'identify threw what is no Error')
    }
    t.notMatch(lines.join(''), secret)
  }
})

t.test('onDenied is told of every denial, with its request, and of nothing else', async (t) => {
  const told: [Denial, string, unknown][] = []
  const onDenied: AllowanceOptions['onDenied'] = (denial, request) => {
    told.push([denial, request.url, request.caller])
  }
  const { app, limiter } = await matrixApp(t, {
    limits: { request: '4/60', work: '1/60', step: '1/60' },
    allowance: { onDenied },
  })
  const post = (rpc: string, payload: string) =>
    app.inject({
      method: 'POST',
      url: pathOf(rpc),
      headers: { ...as('a'), 'content-type': 'application/json' },
      payload,
    })
  limiter.spend(apiKey('a'), 'step', 1)
  t.equal((await post('Unary', '{"items":["a"]}')).statusCode, 200)
  t.same(told, [])
  for (const [rpc, payload] of [
    ['Unary', '{"items":["a"]}'],
    ['Step', '{}'],
    ['Unary', '{}'],
    ['Undeclared', '{}'],
  ] as const) {
    await post(rpc, payload)
  }
  const denial = (category: string, count: number, retryDelayMs: number) => {
    const exceeded = { bound: 'caller', limit: { count, windowSeconds: 60 }, retryDelayMs }
    return { category, ...exceeded, exceeded: [exceeded] }
  }
  t.same(told, [
    [denial('work', 1, 60_000), pathOf('Unary'), apiKey('a')],
    [denial('step', 1, 60_000), pathOf('Step'), apiKey('a')],
    [denial('request', 4, 15_000), pathOf('Undeclared'), apiKey('a')],
  ])
})

const fail = () => {
  throw new Error('the metrics are down')
}
for (const [how, onDenied] of Object.entries({ throws: fail, 'rejects with': async () => fail() })) {
  t.test(`what onDenied ${how} is logged, and the rejection goes out`, async (t) => {
    const lines: string[] = []
    const { app, limiter } = await matrixApp(t, {
      limits: { request: '1/60' },
      fastify: { logger: { level: 'error', stream: { write: (line: string) => lines.push(line) } } },
      allowance: { onDenied },
    })
    limiter.spend(apiKey('a'), 'request', 1)
    const headers = { ...as('a'), 'content-type': 'application/json' }
    const answer = await app.inject({ method: 'POST', url: pathOf('Unary'), headers, payload: '{}' })
    t.equal(answer.statusCode, 429)
    t.match(
      lines.map((line) => JSON.parse(line)),
      [{ msg: 'onDenied failed', err: { message: 'the metrics are down' } }],
    )
  })
}

t.test('a spend that is a mistake of the app is logged: Connect tells nobody what it was', async (t) => {
  const lines: string[] = []
  const { app } = await matrixApp(t, {
    fastify: { logger: { level: 'error', stream: { write: (line: string) => lines.push(line) } } },
    after: (instance) => void instance.get('/nope', (request) => request.spend('nope', 1)),
  })
  t.equal((await app.inject('/nope')).statusCode, 500)
  t.match(JSON.parse(lines[0]!), { msg: 'spend failed', err: { message: /^category "nope" is not declared in / } })
})
