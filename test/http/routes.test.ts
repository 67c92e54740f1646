import fastifyCors from '@fastify/cors'
import type { FastifyInstance, RouteShorthandOptions } from 'fastify'
import t from 'tap'
import allowance, { type AllowanceOptions, createLimiter } from '../../src/index.ts'
import { domain } from '../support/matrix-app.ts'
import { everyone, plainApp } from '../support/plain-app.ts'

const few = (): RouteShorthandOptions => ({ config: { allowance: { bounds: [everyone('3/60', 'few')] } } })
const ok = async () => 'ok'

t.test('a GET is charged once; its automatic HEAD route counts as it', async (t) => {
  for (const [name, options] of [
    ['of its own config', few()],
    ['of the option routes', {}],
  ] as const) {
    const { ask, statuses, left, app } = await plainApp(t, {
      allowance: name === 'of its own config' ? {} : { routes: { bounds: [everyone('3/60', 'few')] } },
      routes: (app) => app.get('/', options, ok).get('/other', options, ok),
    })
    t.equal((await ask('/')).statusCode, 200)
    t.same(left(), [999], `${name}: one for a GET`)
    t.match(await ask('/', { method: 'HEAD' }), { statusCode: 200, body: '' })
    t.same(left(), [998], `${name}: one for a HEAD`)
    t.equal((await ask('/')).statusCode, 200)
    t.match(await ask('/', { method: 'HEAD' }), { statusCode: 429, body: '', headers: { 'retry-after': '20' } })
    t.equal(await statuses(1, '/'), '429')
    t.equal(await statuses(4, '/other'), '200 200 200 429', `${name}: another route with the same config is another`)
    await app.close()
  }
})

t.test('a route of several methods is one, with its HEAD', async (t) => {
  const { statuses } = await plainApp(t, {
    routes: (app) => app.route({ method: ['GET', 'POST', 'PUT'], url: '/', ...few(), handler: ok }),
  })
  t.equal(await statuses(1, '/'), '200')
  t.equal(await statuses(1, '/', { method: 'POST' }), '200')
  t.equal(await statuses(1, '/', { method: 'HEAD' }), '200')
  t.equal(await statuses(1, '/', { method: 'PUT' }), '429')
})

t.test('a HEAD route of its own has its own charges', async (t) => {
  const { statuses, left } = await plainApp(t, {
    routes: (app) => {
      app.head('/', { config: { allowance: { charges: 5 } } }, async () => '')
      app.get('/', { config: { allowance: {} } }, ok)
    },
  })
  t.equal(await statuses(1, '/', { method: 'HEAD' }), '200')
  t.same(left(), [995])
  t.equal(await statuses(1, '/'), '200')
  t.same(left(), [994])
})

t.test('a HEAD route for another host is none of a GET route’s', async (t) => {
  const { statuses } = await plainApp(t, {
    allowance: { routes: { bounds: [everyone('1/60', 'few')] } },
    fastify: { exposeHeadRoutes: false },
    routes: (app) => {
      app.get('/', { constraints: { host: 'a.example' } }, ok)
      app.head('/', { constraints: { host: 'b.example' } }, ok)
    },
  })
  t.equal(await statuses(2, '/', { headers: { host: 'a.example' } }), '200 429')
  t.equal(await statuses(1, '/', { method: 'HEAD', headers: { host: 'b.example' } }), '200')
})

t.test('two routes that share one config have counters of their own', async (t) => {
  const shared = few()
  const { statuses } = await plainApp(t, {
    routes: (app) => app.get('/a', shared, ok).get('/b', shared, ok).post('/a', shared, ok),
  })
  t.equal(await statuses(4, '/a'), '200 200 200 429')
  t.equal(await statuses(4, '/b'), '200 200 200 429')
  t.equal(await statuses(4, '/a', { method: 'POST' }), '200 200 200 429')
})

t.test('a set of limiter.bounds() is shared by the routes that name it', async (t) => {
  const { statuses } = await plainApp(t, {
    routes: (app) => {
      const bounds = app.allowance.limiter.bounds([everyone('3/60')])
      app.get('/a', { config: { allowance: { bounds } } }, ok).get('/b', { config: { allowance: { bounds } } }, ok)
    },
  })
  t.equal(await statuses(2, '/a'), '200 200')
  t.equal(await statuses(2, '/b'), '200 429')
})

t.test('routes that differ in their constraints are several, also for a bound per route', async (t) => {
  const rows: [string, RouteShorthandOptions, Partial<AllowanceOptions>][] = [
    ['with bounds of their own', few(), {}],
    ['with a bound per route', { config: { allowance: {} } }, { bounds: [{ ...everyone('3/60'), per: 'route' }] }],
  ]
  for (const [name, options, more] of rows) {
    const { statuses } = await plainApp(t, {
      allowance: more,
      routes: (app) => {
        app.get('/', { ...options, constraints: { host: 'a.example' } }, ok)
        app.get('/', { ...options, constraints: { host: /^b\./ } }, ok)
        app.get('/', { ...options, constraints: { host: /^c\./ } }, ok)
        app.get('/v', { ...options, constraints: { version: '1.2.0' } }, ok)
      },
    })
    const a = { headers: { host: 'a.example' } }
    t.equal(await statuses(3, '/', a), '200 200 200', name)
    t.equal(await statuses(1, '/', { ...a, method: 'HEAD' }), '429', `${name}: HEAD`)
    for (const host of ['b.example', 'c.example']) {
      t.equal(await statuses(3, '/', { headers: { host } }), '200 200 200', `${name}: ${host}`)
      t.equal(await statuses(1, '/', { headers: { host } }), '429', `${name}: ${host}`)
    }
    t.equal(await statuses(4, '/v', { headers: { 'accept-version': '1.x' } }), '200 200 200 429', name)
  }
})

t.test(
  'a bound per route counts HEAD as GET, by any path of the route, and all that no route takes as one',
  async (t) => {
    const { statuses } = await plainApp(t, {
      allowance: { bounds: [{ ...everyone('3/60'), per: 'route' }], notFound: {}, routes: {} },
      routes: (app) => {
        app.get('/users/:id', ok)
        app.register(async (scope) => void scope.get('/', ok), { prefix: '/scope' })
      },
    })
    t.equal(await statuses(1, '/users/1'), '200')
    t.equal(await statuses(1, '/users/2', { method: 'HEAD' }), '200')
    t.equal(await statuses(2, '/users/3'), '200 429')
    t.equal(await statuses(1, '/scope'), '200')
    t.equal(await statuses(1, '/scope/', { method: 'HEAD' }), '200')
    t.equal(await statuses(1, '/scope/'), '200')
    t.equal(await statuses(1, '/scope', { method: 'HEAD' }), '429')
    t.equal(await statuses(1, '/x'), '404')
    t.equal(await statuses(1, '/y', { method: 'POST' }), '404')
    t.equal(await statuses(2, '/z', { method: 'DELETE' }), '404 429')
  },
)

t.test('prefixes and child scopes: the path with and without its slash is one route', async (t) => {
  const { statuses } = await plainApp(t, {
    routes: async (app) => {
      await app.register(async (scope) => void scope.get('/', few(), ok).get('/below', few(), ok), { prefix: '/v1' })
      await app.register(async (scope) => void scope.get('/', few(), ok), { prefix: '/v2/' })
    },
  })
  t.equal(await statuses(1, '/v1'), '200')
  t.equal(await statuses(1, '/v1/'), '200')
  t.equal(await statuses(1, '/v1/', { method: 'HEAD' }), '200')
  t.equal(await statuses(1, '/v1', { method: 'HEAD' }), '429')
  t.equal(await statuses(1, '/v1/'), '429')
  t.equal(await statuses(4, '/v1/below'), '200 200 200 429')
  t.equal(await statuses(4, '/v2/'), '200 200 200 429')
})

t.test('the plugin in a child scope is about that scope; two of them share a limiter', async (t) => {
  const limiter = createLimiter({
    rateLimits: { categories: { request: { default: [{ count: 3, windowSeconds: 60 }] } } },
  })
  const { statuses } = await plainApp(t, {
    routes: () => {},
    before: async (app) => {
      app.get('/out', ok)
      for (const prefix of ['/a', '/b']) {
        await app.register(
          async (scope) => {
            await scope.register(allowance, { domain, limiter, routes: {} })
            scope.get('/in', ok)
          },
          { prefix },
        )
      }
    },
  })
  t.equal(await statuses(2, '/a/in'), '200 200')
  t.equal(await statuses(2, '/b/in'), '200 429')
  t.equal(await statuses(4, '/out'), '200 200 200 200')
})

t.test('a preflight that CORS answers is not charged; what comes as far as a route, or to none, is', async (t) => {
  const preflight = {
    method: 'OPTIONS',
    headers: { origin: 'https://app.example.com', 'access-control-request-method': 'POST' },
  } as const
  const cors = (app: FastifyInstance) => void app.register(fastifyCors, { origin: true })
  const all = (app: FastifyInstance) => void app.all('/all', ok)
  const routes = { routes: {}, notFound: {} }
  const apps = {
    'no CORS': await plainApp(t, { allowance: routes, routes: all }),
    'CORS before': await plainApp(t, { allowance: routes, before: cors, routes: all }),
    'CORS after': await plainApp(t, { allowance: routes, routes: (app) => [all, cors].map((add) => add(app)) }),
  }
  for (const [name, { ask, left }] of Object.entries(apps)) {
    for (const url of ['/all', '/nothing']) await ask(url, preflight)
    // Who could leave off paying by two header fields would.
    t.same(left(), [name === 'no CORS' ? 998 : 1000], name)
    await ask('/all', { method: 'OPTIONS' })
    // CORS refuses it, before anything is asked of a route.
    t.same(left(), [name === 'no CORS' ? 997 : 1000], `${name}: OPTIONS that is no preflight`)
  }
})

t.test('a route from before the plugin whose config.allowance would be lost is not served', async (t) => {
  const { ask, app, log } = await plainApp(t, {
    before: (app) => {
      app.get('/early', { config: { allowance: { charges: 5 } } }, ok)
      app.get('/early-too', ok)
    },
    routes: (app) => app.get('/late', { config: { allowance: {} } }, ok),
  })
  await app.ready()
  const answer = await ask('/early')
  t.equal(answer.statusCode, 500)
  const message =
    'fastify-allowance does not charge GET /early: its config.allowance asks for that; register the route after the plugin, and await that: await app.register(allowance, …)'
  t.equal(answer.json().message, message)
  t.match(log, [{ err: { message } }])
  t.equal((await ask('/early', { method: 'HEAD' })).statusCode, 500)
  t.equal((await ask('/early-too')).statusCode, 200)
  t.equal((await ask('/late')).statusCode, 200)
  t.equal((await ask('/nothing')).statusCode, 404)
})

t.test('an onRoute hook that takes the hook of a plain route away stops the start', async (t) => {
  for (const step of ['onRequest', 'preHandler'] as const) {
    const { app } = await plainApp(t, {
      routes: (app) => {
        app.addHook('onRoute', (route) => {
          route[step] = async () => {}
        })
        app.get('/', { config: { allowance: { step } } }, ok)
      },
    })
    await t.rejects(async () => app.ready(), {
      message: new RegExp(`^fastify-allowance does not charge /: .* route\\.${step};`),
    })
  }
})

t.test('a config.allowance that is wrong stops the start, with the route’s name', async (t) => {
  const wrong = async (allowance: unknown) => {
    const routes = (app: FastifyInstance) => app.get('/x', { config: { allowance } as never }, ok)
    await plainApp(t, { routes })
  }
  for (const [allowance, message] of [
    [{ charges: -1 }, /GET \/x: config\.allowance\.charges: must be .* got -1/],
    [{ charge: 1 }, /GET \/x: config\.allowance: unknown key "charge"/],
    [{ bounds: [{ name: 'n', per: 'nobody', limits: [] }] }, /GET \/x: config\.allowance\.bounds\[0\]\.per: must/],
    [{ holds: ['h'] }, /GET \/x: config\.allowance\.holds\[0\]: must be the name of a declared hold/],
    [null, /GET \/x: config\.allowance: must be/],
    [true, /GET \/x: config\.allowance: must be/],
  ] as const) {
    await t.rejects(wrong(allowance), { message }, JSON.stringify(allowance))
  }
  for (const option of ['routes', 'notFound'] as const) {
    const promise = plainApp(t, { allowance: { [option]: { charges: -1 } }, routes: () => {} })
    await t.rejects(promise, { message: new RegExp(`options\\.${option}\\.charges: must be`) })
  }
})

t.test(
  'the automatic HEAD route counts as its GET, also where a hook of the app puts other things in its place',
  async (t) => {
    for (const change of ['handler', 'config'] as const) {
      const { statuses, ask } = await plainApp(t, {
        before: (app) =>
          void app.addHook('onRoute', (route) => {
            const { handler, config } = route
            if (change === 'handler')
              route.handler = function (...args) {
                return handler.apply(this, args)
              }
            else if (config !== undefined) route.config = { ...config }
          }),
        routes: (app) => app.get('/x', { config: { allowance: { bounds: [everyone('3/60')] } } }, ok),
      })
      t.equal(await statuses(2, '/x'), '200 200', change)
      t.equal(await statuses(2, '/x', { method: 'HEAD' }), '200 429', change)
      t.equal((await ask('/x')).statusCode, 429, change)
    }
  },
)
