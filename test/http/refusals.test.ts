import { Readable } from 'node:stream'
import t from 'tap'
import { type AllowanceOptions, type Denial, manualClock, type RenderRejection } from '../../src/index.ts'
import { apiKey, limitsOf, millisecond } from '../support/limiter-of.ts'
import { everyone, plainApp } from '../support/plain-app.ts'

const ok = async () => 'ok'
const charged = { config: { allowance: {} } }

/** An app whose one request is spent. */
const spentApp = async (
  allowance: Partial<AllowanceOptions> = {},
  limits: Record<string, string> = { request: '1/60' },
) => {
  const built = await plainApp(t, {
    limits,
    allowance,
    routes: (app) => app.get('/', charged, ok),
  })
  await built.ask('/')
  return built
}

t.test('a refusal is 429 with Retry-After, the RateLimit fields, and problem details', async (t) => {
  const { ask } = await spentApp()
  const { statusCode, headers, body } = await ask('/')
  t.equal(statusCode, 429)
  t.match(headers, {
    'retry-after': '60',
    'content-type': 'application/problem+json; charset=utf-8',
    'ratelimit-policy': '"caller";q=1;w=60',
    ratelimit: '"caller";r=0;t=60',
  })
  t.same(JSON.parse(body), {
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    title: 'Quota Exceeded',
    status: 429,
    detail: 'Quota exceeded: caller. Retry in 60 s.',
    'violated-policies': ['caller'],
  })
})

t.test('rateLimitHeaders: legacy fields, or none', async (t) => {
  const legacy = await (await spentApp({ rateLimitHeaders: { fields: 'legacy' } })).ask('/')
  t.match(legacy.headers, {
    'ratelimit-limit': '1',
    'ratelimit-remaining': '0',
    'ratelimit-reset': '60',
    'retry-after': '60',
  })
  t.notOk('ratelimit' in legacy.headers || 'ratelimit-policy' in legacy.headers)
  const none = await (await spentApp({ rateLimitHeaders: { fields: 'none', always: true } })).ask('/')
  t.same(
    Object.keys(none.headers).filter((name) => name.startsWith('ratelimit')),
    [],
  )
  t.equal(none.headers['retry-after'], '60')
})

t.test('rateLimitHeaders.always: on every response of a route that costs something, errors and 404s too', async (t) => {
  const { ask } = await plainApp(t, {
    limits: { request: '100/60' },
    allowance: {
      rateLimitHeaders: { always: true },
      notFound: {},
      identify: (request) => {
        if (request.headers['x-caller'] === 'forged') throw new Error('no')
        return { type: 'api_key', name: 'a' }
      },
      bounds: [everyone('1000/60')],
    },
    routes: (app) =>
      app
        .get('/', charged, ok)
        .get('/throws', charged, async () => {
          throw new Error('broken')
        })
        .post('/', charged, ok)
        .get('/uncharged', ok),
  })
  const policies = '"caller";q=100;w=60, "all";q=1000;w=60'
  for (const [url, more, status, left] of [
    ['/', {}, 200, 99],
    ['/', { method: 'HEAD' }, 200, 98],
    ['/throws', {}, 500, 97],
    ['/', { method: 'POST', payload: '{', headers: { 'content-type': 'application/json' } }, 400, 96],
    ['/nowhere', {}, 404, 95],
  ] as const) {
    const { statusCode, headers } = await ask(url, more)
    t.equal(statusCode, status)
    const binding = new RegExp(`^"caller";r=${left};t=\\d+$`)
    t.match(headers, { ratelimit: binding }, `${status} ${url}`)
    t.same(new Set(String(headers['ratelimit-policy']).split(', ')), new Set(policies.split(', ')))
    t.notOk('retry-after' in headers)
  }
  const forged = await ask('/', { headers: { 'x-caller': 'forged' } })
  t.match(forged, { statusCode: 500, headers: { ratelimit: '"all";r=994;t=60' } }, 'what has been charged until then')
  const { headers } = await ask('/uncharged')
  t.notOk('ratelimit' in headers)
})

t.test('where nobody can say when, or it is never, there is no Retry-After', async (t) => {
  const kinds = {
    blocked: [{ kind: 'blocked' }],
    epoch: [{ kind: 'epoch', count: 1, epoch: () => 1 }],
  } as const
  for (const [name, limits] of Object.entries(kinds)) {
    const { ask } = await plainApp(t, {
      allowance: { rateLimits: { maxMemoryMib: 8, categories: { request: { default: limits } } } },
      routes: (app) => app.get('/', charged, ok).get('/spends', (request) => request.spend('request', 1)),
    })
    if (name === 'epoch') await ask('/')
    for (const url of ['/', '/spends']) {
      const { statusCode, headers, body } = await ask(url)
      t.equal(statusCode, 429, name)
      t.notOk('retry-after' in headers, name)
      t.equal(headers.ratelimit, '"caller";r=0', name)
      t.match(JSON.parse(body).detail, name === 'blocked' ? /never admitted/ : /cannot be said/)
    }
  }
})

t.test('renderRejection makes the body, of the plugin or over it of the route', async (t) => {
  const told: Denial[] = []
  const bodies: Record<string, RenderRejection> = {
    text: () => 'too much',
    object: (denial) => ({ wait: denial.retryDelayMs }),
    async: async (denial) => {
      await new Promise(setImmediate)
      told.push(denial)
      return { bound: denial.bound }
    },
    nothing: () => undefined,
    stream: (_denial, _request, reply) => {
      reply.type('text/csv')
      return Readable.from(['a,', 'b'])
    },
    'json-rpc': (denial, request, reply) => {
      reply.code(200)
      return { jsonrpc: '2.0', id: request.id, error: { code: -10007, data: denial.category } }
    },
    sends: (_denial, _request, reply) => reply.code(503).send('sent'),
    'sends later': async (_denial, _request, reply) => {
      await new Promise(setImmediate)
      return reply.send('sent later')
    },
  }
  for (const hooks of ['no hook', 'an async onSend hook']) {
    const { ask, log } = await plainApp(t, {
      limits: { request: '' },
      allowance: { renderRejection: () => 'of the plugin', bounds: [everyone('1/60')] },
      routes: (app) => {
        if (hooks !== 'no hook')
          app.addHook('onSend', async (_request, _reply, payload) => {
            await new Promise(setImmediate)
            return payload
          })
        app.get('/plugin', charged, ok)
        for (const [name, renderRejection] of Object.entries(bodies)) {
          app.get(`/${name}`, { config: { allowance: { renderRejection } } }, ok)
          app.get(`/spends ${name}`, { config: { allowance: { free: true, renderRejection } } }, (request) =>
            request.spend('request', 1),
          )
        }
      },
    })
    t.equal((await ask('/plugin')).statusCode, 200)
    t.match(await ask('/plugin'), { statusCode: 429, body: 'of the plugin', headers: { 'retry-after': '60' } })
    const expected = {
      text: { statusCode: 429, body: 'too much', headers: { 'content-type': 'text/plain; charset=utf-8' } },
      object: {
        statusCode: 429,
        body: '{"wait":60000}',
        headers: { 'content-type': 'application/json; charset=utf-8' },
      },
      async: { statusCode: 429, body: '{"bound":"all"}' },
      nothing: { statusCode: 429, body: '' },
      stream: { statusCode: 429, body: 'a,b', headers: { 'content-type': 'text/csv' } },
      'json-rpc': { statusCode: 200, body: /"error":\{"code":-10007,"data":"request"\}/ },
      sends: { statusCode: 503, body: 'sent' },
      'sends later': { statusCode: 429, body: 'sent later' },
    }
    for (const [name, answer] of Object.entries(expected)) {
      for (const url of [`/${name}`, `/spends ${name}`]) {
        t.match(await ask(encodeURI(url)), answer, `${url}, ${hooks}`)
      }
    }
    t.same(log, [], `${hooks}: nothing is sent twice`)
  }
  t.match(told, [{ category: 'request', bound: 'all', limit: { count: 1, windowSeconds: 60 }, retryDelayMs: 60_000 }])
})

t.test('a refusal whose renderer fails is logged, and is a refusal all the same', async (t) => {
  const broken = new Error('the templates are gone')
  const ways: Record<string, RenderRejection> = {
    throws: () => {
      throw broken
    },
    rejects: async (_denial, _request, reply) => {
      reply.code(200).type('text/html')
      throw broken
    },
    'returns what cannot be sent': (_denial, _request, reply) => {
      reply.type('text/html')
      return 5
    },
  }
  for (const [way, renderRejection] of Object.entries(ways)) {
    const { ask, log } = await spentApp({ renderRejection })
    const answer = await ask('/')
    t.match(
      answer,
      { statusCode: 429, headers: { 'retry-after': '60', 'content-type': /^application\/problem\+json/ } },
      way,
    )
    t.match(answer.json(), { 'violated-policies': ['caller'] })
    t.match(log, [{ msg: 'renderRejection failed' }])
  }
})

t.test('a refusal names no key, no address, no credential', async (t) => {
  const secrets = ['sk-secret', '203.0.113.9', 'ann@example.com', '127.0.0.1']
  const { ask } = await plainApp(t, {
    limits: { request: '1/60' },
    allowance: {
      identify: () => ({ type: 'api_key', name: 'sk-secret', user: 'ann@example.com' }),
      bounds: [
        { name: 'user', per: 'user', limits: [{ count: 1, windowSeconds: 60 }] },
        { name: 'address', per: 'address', limits: [{ count: 1, windowSeconds: 60 }] },
        { name: 'own', per: () => '203.0.113.9', limits: [{ count: 1, windowSeconds: 60 }] },
      ],
      rateLimitHeaders: { always: true },
    },
    routes: (app) => app.get('/', charged, ok).get('/spends', (request) => request.spend('request', 1)),
  })
  for (const url of ['/', '/', '/spends']) {
    const { headers, body } = await ask(url, { headers: { 'x-forwarded-for': '203.0.113.9' } })
    const shown = JSON.stringify(headers) + body
    for (const secret of secrets) t.notOk(shown.includes(secret), `${url}: ${secret}`)
  }
})

t.test('RateLimit always tells when more is there, on a clock that moves at each reading', async (t) => {
  const still = manualClock()
  const clock = {
    ...still,
    now() {
      still.advance(17n * millisecond)
      return still.now()
    },
  }
  const { ask, limiter } = await plainApp(t, {
    allowance: {
      clock,
      rateLimits: { maxMemoryMib: 8, categories: { request: { default: limitsOf('1000/60') } } },
      rateLimitHeaders: { always: true },
    },
    routes: (app) => app.get('/', charged, ok),
  })
  for (let i = 0; i < 500; i++) limiter.spend(apiKey('a'), 'request', 1)
  for (let i = 0; i < 100; i++) {
    const { headers } = await ask('/')
    t.match(headers.ratelimit, /^"caller";r=\d+;t=\d+$/)
  }
})
