import type { ConnectRouter } from '@connectrpc/connect'
import { createConnectRouter } from '@connectrpc/connect'
import { fastifyConnectPlugin } from '@connectrpc/connect-fastify'
import type { FastifyInstance } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import t from 'tap'
import allowance, { type AllowanceOptions } from '../../src/index.ts'
import { MatrixService } from '../gen/test/v1/matrix_pb.ts'
import { bareApp } from '../support/charged-for.ts'
import { createFastify, domain, matrixService, pathOf, rateLimits } from '../support/matrix-app.ts'

const routes = (router: ConnectRouter) => router.service(MatrixService, matrixService())
const options: AllowanceOptions = { domain, rateLimits: rateLimits({}) }
const allPaths = ['Unary', 'ServerStream', 'ClientStream', 'Bidi', 'Undeclared', 'Free', 'Step'].map(pathOf)

/** Starts an app and returns why that failed. */
const failureOf = async (start: (app: FastifyInstance) => unknown, app = createFastify(false)): Promise<string> => {
  try {
    await start(app)
    await app.ready()
    return 'started'
  } catch (error) {
    return (error as Error).message
  } finally {
    await app.close().catch(() => {})
  }
}

t.test('case 10: an RPC that would not be charged stops the start, and is named', async (t) => {
  const ways: Record<string, { paths?: string[]; start: (app: FastifyInstance) => unknown }> = {
    'registered before the plugin': {
      start: async (app) => {
        await app.register(fastifyConnectPlugin, { routes })
        await app.register(allowance, options)
      },
    },
    'before the plugin, called by another function plugin': {
      start: async (app) => {
        app.register((child, _options, done) => fastifyConnectPlugin(child, { routes }, done))
        await app.register(allowance, options)
      },
    },
    'beside the scope of the plugin, called by another function plugin': {
      start: async (app) => {
        await app.register(async (scope) => {
          await scope.register(allowance, options)
          await scope.register(fastifyConnectPlugin, { ...scope.allowance.connect({ routes }), prefix: '/charged' })
        })
        await app.register(async function outer(sibling) {
          await sibling.register((child, _options, done) => fastifyConnectPlugin(child, { routes }, done))
        })
      },
    },
    'before the plugin, in the scope of the app itself': {
      start: async (app) => {
        // A function of its own, because fastifyPlugin marks the one that it is given.
        const connect: typeof fastifyConnectPlugin = (scope, options, done) =>
          fastifyConnectPlugin(scope, options, done)
        await app.register(fastifyPlugin(connect), { routes })
        await app.register(allowance, options)
      },
    },
    'before the plugin, below a prefix': {
      paths: [`/api/v1${pathOf('Unary')}`, `/api${pathOf('Unary')}`],
      start: async (app) => {
        await app.register(
          async (child) => {
            await child.register(fastifyConnectPlugin, { routes, prefix: '/v1/' })
          },
          { prefix: '/api' },
        )
        await app.register(async (child) => {
          await child.register(fastifyConnectPlugin, { routes, prefix: '/api' })
        })
        await app.register(allowance, options)
      },
    },
    'without connect(), by handlers that another onRoute hook has wrapped': {
      start: async (app) => {
        app.addHook('onRoute', (route) => {
          const { handler } = route
          route.handler = function traced(request, reply) {
            return handler.call(this, request, reply)
          }
        })
        await app.register(allowance, options)
        await app.register(fastifyConnectPlugin, { routes })
      },
    },
    'whose hook another onRoute hook has overwritten': {
      start: async (app) => {
        await app.register(allowance, options)
        app.addHook('onRoute', (route) => {
          route.onRequest = async () => {}
        })
        await app.register(fastifyConnectPlugin, app.allowance.connect({ routes }))
      },
    },
    'whose hook another onRoute hook has taken away': {
      start: async (app) => {
        await app.register(allowance, options)
        app.addHook('onRoute', (route) => {
          delete route.onRequest
        })
        await app.register(async (child) => {
          await child.register(fastifyConnectPlugin, app.allowance.connect({ routes }))
        })
      },
    },
    'in a sibling of the scope of the plugin, before it': {
      start: async (app) => {
        await app.register(async (sibling) => {
          await sibling.register(fastifyConnectPlugin, { routes })
        })
        await app.register(async (scope) => {
          await scope.register(allowance, options)
        })
      },
    },
    'in a sibling of the scope of the plugin, after it': {
      start: async (app) => {
        await app.register(async (scope) => {
          await scope.register(allowance, options)
        })
        await app.register(async (sibling) => {
          await sibling.register(fastifyConnectPlugin, { routes })
        })
      },
    },
    'above the scope of the plugin': {
      start: async (app) => {
        await app.register(async (scope) => {
          await scope.register(allowance, options)
        })
        await app.register(fastifyConnectPlugin, { routes })
      },
    },
    'after the plugin, but without connect()': {
      start: async (app) => {
        await app.register(allowance, options)
        await app.register(fastifyConnectPlugin, { routes })
      },
    },
    'in a child, without connect()': {
      start: async (app) => {
        await app.register(allowance, options)
        await app.register(async (child) => {
          await child.register(fastifyConnectPlugin, { routes })
        })
      },
    },
    'in a child under a prefix, without connect()': {
      paths: [`/api${pathOf('Unary')}`],
      start: async (app) => {
        await app.register(allowance, options)
        await app.register(fastifyConnectPlugin, { routes, prefix: '/api' })
      },
    },
    'beside others that are charged, without connect()': {
      paths: [`/two${pathOf('Unary')}`],
      start: async (app) => {
        await app.register(allowance, options)
        await app.register(fastifyConnectPlugin, { ...app.allowance.connect({ routes }), prefix: '/one' })
        await app.register(fastifyConnectPlugin, { routes, prefix: '/two' })
      },
    },
    'before others that are charged': {
      paths: [`/one${pathOf('Unary')}`],
      start: async (app) => {
        await app.register(fastifyConnectPlugin, { routes, prefix: '/one' })
        await app.register(allowance, options)
        await app.register(fastifyConnectPlugin, { ...app.allowance.connect({ routes }), prefix: '/two' })
      },
    },
    'by connect() of a scope that it is beside': {
      start: async (app) => {
        let wired: Parameters<typeof fastifyConnectPlugin>[1] | undefined
        await app.register(async (scope) => {
          await scope.register(allowance, options)
          wired = scope.allowance.connect({ routes })
        })
        await app.register(fastifyConnectPlugin, wired!)
      },
    },
    'put on the router past service() and rpc()': {
      start: async (app) => {
        await app.register(allowance, options)
        const other = createConnectRouter().rpc(MatrixService.method.unary, () => ({}))
        await app.register(
          fastifyConnectPlugin,
          app.allowance.connect({ routes: (router) => void router.handlers.push(...other.handlers) }),
        )
      },
    },
  }
  for (const [name, { paths = [pathOf('Unary')], start }] of Object.entries(ways)) {
    t.test(name, async (t) => {
      const failure = await failureOf(start)
      for (const path of paths) t.match(failure, path.slice(1), `${path} is named`)
      t.match(failure, /charge/)
    })
  }

  t.test('all of them are named, and what to do', async (t) => {
    const failure = await failureOf(async (app) => {
      await app.register(fastifyConnectPlugin, { routes })
      await app.register(allowance, options)
    })
    for (const path of allPaths) t.match(failure, path)
    t.match(failure, 'app.register(fastifyConnectPlugin, app.allowance.connect({ routes }))')
  })

  t.test('what an onRoute hook has to do instead of assigning', async (t) => {
    const failure = await failureOf(async (app) => {
      await app.register(allowance, options)
      app.addHook('onRoute', (route) => {
        route.onRequest = async () => {}
      })
      await app.register(fastifyConnectPlugin, app.allowance.connect({ routes }))
    })
    t.match(failure, 'route.onRequest = [...[route.onRequest ?? []].flat(), more]')
    t.notMatch(failure, pathOf('Free'), 'a free RPC needs no hook')
  })

  t.test('what was wired and never registered, is no RPC', async (t) => {
    t.equal(
      await failureOf(async (app) => {
        await app.register(allowance, options)
        app.allowance.connect({ routes })
      }),
      'started',
    )
  })
})

t.test('what is no RPC of connect-fastify does not stop the start', async (t) => {
  const ways: Record<string, (app: FastifyInstance) => unknown> = {
    'no RPC at all': (app) => app.register(allowance, options),
    'routes that look like RPCs': async (app) => {
      app.post('/api.v1.Service/Method', async () => 'before')
      await app.register(allowance, options)
      app.post('/api/users', async () => 'after')
      await app.register(fastifyConnectPlugin, { ...app.allowance.connect({ routes }), prefix: '/rpc' })
    },
    'plain routes like those of RPCs, beside connect-fastify without routes': async (app) => {
      app.post('/api/save', async () => 'before')
      app.all('/api/load', async () => 'before')
      app.all('/api.v1.Service/Method', async () => 'before')
      await app.register(fastifyConnectPlugin, {})
      await app.register(fastifyConnectPlugin, { routes: () => {} })
      await app.register(allowance, options)
      await app.register(fastifyConnectPlugin, {})
      await app.register(fastifyConnectPlugin, app.allowance.connect({ routes: () => {} }))
      await app.register(fastifyConnectPlugin, app.allowance.connect({ routes }))
      app.all('/api/save/all', async () => 'after')
    },
    'a plain route for every content type, with the shape of an RPC': async (app) => {
      app.addContentTypeParser('*', (_request, _body, done) => done(null))
      app.all('/some.Service/Method', async () => 'before')
      await app.register(allowance, options)
    },
    'an onRoute hook that adds its own': async (app) => {
      await app.register(allowance, options)
      app.addHook('onRoute', (route) => {
        route.onRequest = [async () => {}, ...[route.onRequest ?? []].flat(), async () => {}]
      })
      await app.register(fastifyConnectPlugin, app.allowance.connect({ routes }))
    },
    'an onRoute hook from before the plugin that assigns': async (app) => {
      app.addHook('onRoute', (route) => {
        route.onRequest = async () => {}
      })
      await app.register(allowance, options)
      await app.register(fastifyConnectPlugin, app.allowance.connect({ routes }))
    },
    'a free RPC in a child': async (app) => {
      await app.register(allowance, options)
      await app.register(async (child) => {
        await child.register(
          fastifyConnectPlugin,
          child.allowance.connect({ routes: (router) => router.rpc(MatrixService.method.free, () => ({})) }),
        )
      })
    },
    'a service in a child, with methods that nobody implemented': async (app) => {
      await app.register(allowance, options)
      await app.register(async (child) => {
        await child.register(
          fastifyConnectPlugin,
          child.allowance.connect({ routes: (router) => router.service(MatrixService, {}) }),
        )
      })
    },
    'other plugins whose name has connect in it': async (app) => {
      await app.register(allowance, options)
      await app.register(async function myFastifyConnectPluginForTests(child) {
        child.post('/some.Service/Method', async () => 'plain')
      })
      await app.register(fastifyConnectPlugin, app.allowance.connect({ routes }))
    },
  }
  for (const [name, start] of Object.entries(ways)) {
    t.test(name, async (t) => {
      t.equal(await failureOf(start), 'started')
    })
  }
})

t.test('case 10: the plugin registered twice fails', async (t) => {
  const message = 'fastify-allowance is registered in this scope already: every request would be charged twice'
  t.equal(
    await failureOf(async (app) => {
      await app.register(allowance, options)
      await app.register(allowance, options)
    }),
    message,
    'in one scope',
  )
  t.equal(
    await failureOf(async (app) => {
      await app.register(allowance, options)
      await app.register(async (child) => {
        await child.register(allowance, options)
      })
    }),
    message,
    'in a child',
  )
  t.equal(
    await failureOf(async (app) => {
      for (const prefix of ['/one', '/two']) {
        await app.register(
          async (scope) => {
            await scope.register(allowance, options)
            await scope.register(fastifyConnectPlugin, scope.allowance.connect({ routes }))
          },
          { prefix },
        )
      }
    }),
    'started',
    'two scopes beside each other have one each',
  )
  t.equal(await failureOf((app) => app.register(allowance, options), await bareApp(t)), message)
})
