import { Code, ConnectError, type ConnectRouter, createContextValues } from '@connectrpc/connect'
import { fastifyConnectPlugin } from '@connectrpc/connect-fastify'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import allowance, { allowanceOf, type ConnectOptions, createLimiter, manualClock } from '../../src/index.ts'
import { MatrixService } from '../gen/test/v1/matrix_pb.ts'
import { bareApp, chargedFor } from '../support/charged-for.ts'
import {
  callerHeader,
  createFastify,
  domain,
  matrixApp,
  matrixService,
  pathOf,
  rateLimits,
} from '../support/matrix-app.ts'

const routes = (router: ConnectRouter) => router.service(MatrixService, matrixService())

const once = { status: 200, request: 1, work: 2 }

t.test('case 10: an RPC is charged once, with all its charges, wherever it is registered', async (t) => {
  const ways: Record<string, { path?: string; register: (app: FastifyInstance) => unknown }> = {
    'in the scope of the plugin': {
      register: (app) => app.register(fastifyConnectPlugin, app.allowance.connect({ routes })),
    },
    'in a child scope': {
      register: (app) =>
        app.register(async (child) => {
          await child.register(fastifyConnectPlugin, child.allowance.connect({ routes }))
        }),
    },
    'in a grandchild, by the connect() of the root': {
      register: (app) =>
        app.register(async (child) => {
          await child.register(async (grandchild) => {
            await grandchild.register(fastifyConnectPlugin, app.allowance.connect({ routes }))
          })
        }),
    },
    'under a prefix of the registration': {
      path: '/api',
      register: (app) => app.register(fastifyConnectPlugin, { ...app.allowance.connect({ routes }), prefix: '/api' }),
    },
    'under a prefix with a slash at its end': {
      path: '/api',
      register: (app) => app.register(fastifyConnectPlugin, { ...app.allowance.connect({ routes }), prefix: '/api/' }),
    },
    'under the prefix /': {
      register: (app) => app.register(fastifyConnectPlugin, { ...app.allowance.connect({ routes }), prefix: '/' }),
    },
    'under nested prefixes': {
      path: '/api/v1',
      register: (app) =>
        app.register(
          async (child) => {
            await child.register(fastifyConnectPlugin, { ...app.allowance.connect({ routes }), prefix: '/v1' })
          },
          { prefix: '/api' },
        ),
    },
    // connect-fastify has no such option, unlike the adapter in connect-node, and passes over it.
    'with a requestPathPrefix': {
      register: (app) => {
        const options: ConnectOptions & { requestPathPrefix: string } = { routes, requestPathPrefix: '/rpc' }
        return app.register(fastifyConnectPlugin, app.allowance.connect(options))
      },
    },
    'by router.rpc': {
      register: (app) =>
        app.register(
          fastifyConnectPlugin,
          app.allowance.connect({ routes: (router) => router.rpc(MatrixService.method.unary, () => ({})) }),
        ),
    },
    'by chained calls': {
      register: (app) =>
        app.register(
          fastifyConnectPlugin,
          app.allowance.connect({
            routes: (router) =>
              router.rpc(MatrixService.method.free, () => ({})).rpc(MatrixService.method.unary, () => ({})),
          }),
        ),
    },
    'by a module of routes that gets the router': {
      register: (app) =>
        app.register(fastifyConnectPlugin, app.allowance.connect({ routes: (router) => void routes(router) })),
    },
    'without waiting for any registration': {
      register: (app) => {
        app.register(fastifyConnectPlugin, app.allowance.connect({ routes }))
      },
    },
    'beside plain routes and hooks of the app': {
      register: async (app) => {
        app.get('/', async () => 'home')
        app.addHook('onRequest', async () => {})
        await app.register(fastifyConnectPlugin, app.allowance.connect({ routes }))
        app.addHook('preHandler', async () => {})
      },
    },
  }
  for (const [name, { path = '', register }] of Object.entries(ways)) {
    t.test(name, async (t) => {
      const app = await bareApp(t)
      await register(app)
      await app.ready()
      t.same(await chargedFor(app, path + pathOf('Unary')), once)
    })
  }

  t.test('where nothing waits for the plugin either', async (t) => {
    const app = createFastify(false)
    t.teardown(() => app.close())
    app.register(allowance, {
      domain,
      identify: callerHeader,
      rateLimits: rateLimits({ request: '100/60', work: '100/60' }),
    })
    app.register(async (child) => {
      await child.register(fastifyConnectPlugin, child.allowance.connect({ routes }))
    })
    await app.ready()
    t.same(await chargedFor(app, pathOf('Unary')), once)
  })

  t.test('in two places, under two prefixes: each call once, in the one that it asks', async (t) => {
    const app = await bareApp(t)
    for (const prefix of ['/one', '/two']) {
      await app.register(fastifyConnectPlugin, { ...app.allowance.connect({ routes }), prefix })
    }
    await app.ready()
    for (const prefix of ['/one', '/two']) {
      t.same(await chargedFor(app, prefix + pathOf('Unary')), once, prefix)
      t.match(await chargedFor(app, prefix + pathOf('Free')), { status: 200, request: 0, work: 0 }, prefix)
    }
    t.equal(app.allowance.categoryTable().match(/MatrixService\/Unary /g)?.length, 1, 'in the table once')
  })

  t.test('in two places, by options made once', async (t) => {
    const app = await bareApp(t)
    const options = app.allowance.connect({ routes })
    await app.register(fastifyConnectPlugin, { ...options, prefix: '/one' })
    await app.register(fastifyConnectPlugin, { ...options, prefix: '/two' })
    await app.ready()
    t.same(await chargedFor(app, `/one${pathOf('Unary')}`), once)
    t.same(await chargedFor(app, `/two${pathOf('Unary')}`), once)
  })

  t.test('with HEAD routes for every GET', async (t) => {
    const { app } = await matrixApp(t, {
      fastify: { exposeHeadRoutes: true },
      limits: { request: '100/60', work: '100/60' },
    })
    t.same(await chargedFor(app, pathOf('Unary')), once)
  })
})

t.test('two servers with one limiter share one allowance', async (t) => {
  const limiter = createLimiter({ rateLimits: rateLimits({ request: '3/60' }), clock: manualClock() })
  const apps = [await matrixApp(t, { allowance: { limiter } }), await matrixApp(t, { allowance: { limiter } })]
  const statuses: number[] = []
  for (let i = 0; i < 4; i++) {
    const response = await apps[i % 2]!.app.inject({
      method: 'POST',
      url: pathOf('Undeclared'),
      headers: { 'content-type': 'application/json', 'x-caller': 'shared' },
      payload: '{}',
    })
    statuses.push(response.statusCode)
  }
  t.same(statuses, [200, 200, 200, 429])
  for (const { app } of apps) t.equal(app.allowance.limiter, limiter)
})

t.test('allowanceOf outside of connect() throws and says what to do', async (t) => {
  const values = createContextValues()
  t.throws(() => allowanceOf({ method: MatrixService.method.unary, values }), {
    message: 'no allowance in this context: register the service through app.allowance.connect({ routes })',
  })

  const app = createFastify(false)
  t.teardown(() => app.close())
  const messages: string[] = []
  await app.register(fastifyConnectPlugin, {
    routes: (router) =>
      router.rpc(MatrixService.method.unary, (_, context) => {
        try {
          allowanceOf(context)
        } catch (error) {
          messages.push((error as Error).message)
          throw new ConnectError('as it must', Code.Internal)
        }
        return {}
      }),
  })
  await app.inject({
    method: 'POST',
    url: pathOf('Unary'),
    headers: { 'content-type': 'application/json' },
    payload: '{}',
  })
  t.match(messages, [/no allowance in this context/])
})

t.test('the category table has every RPC, in the order of registration, once the app is ready', async (t) => {
  const { app } = await matrixApp(t)
  t.equal(
    app.allowance.categoryTable(),
    [
      'test.v1.MatrixService/Unary         1 request  work: items',
      '                                               step: by the handler',
      'test.v1.MatrixService/ServerStream  1 request  work: items',
      '                                               step: by the handler',
      'test.v1.MatrixService/ClientStream  1 request  work: items (in each message)',
      '                                               step: by the handler',
      'test.v1.MatrixService/Bidi          1 request  work: items (in each message)',
      '                                               step: by the handler',
      'test.v1.MatrixService/Undeclared    1 request',
      'test.v1.MatrixService/Free          free',
      'test.v1.MatrixService/Step          1 request  step: by the handler',
    ].join('\n'),
  )
  t.equal((await bareApp(t)).allowance.categoryTable(), '')
})
