import { Code, ConnectError } from '@connectrpc/connect'
import type { FastifyReply } from 'fastify'
import t from 'tap'
import { apiKey } from './support/limiter-of.ts'
import { createFastify, listeningMatrixApp, matrixApp, pathOf } from './support/matrix-app.ts'
import { matrixClients } from './support/matrix-clients.ts'
import { rejectionOf } from './support/rejection.ts'

const headers = { 'x-caller': 'writer' }
const hooks = ['onRequest', 'preParsing', 'preValidation', 'preHandler'] as const

for (const http2 of [false, true]) {
  t.test(
    `RATE-040: a spend in a hook is refused in every protocol, over ${http2 ? 'HTTP/2' : 'HTTP/1.1'}`,
    async (t) => {
      for (const hook of hooks) {
        const { url, limiter, called } = await listeningMatrixApp(t, {
          http2,
          limits: { step: '1/60' },
          before: (app) => app.addHook(hook as 'onRequest', async (request) => request.spend('step', 1)),
        })
        limiter.spend(apiKey('writer'), 'step', 1)
        for (const client of matrixClients(url, http2)) {
          for (const kind of client.kinds) {
            const { error } = await client.call(kind, headers)
            t.same(error, rejectionOf('step', 60_000), `${hook}, ${client.name}, ${kind}`)
          }
          client.close?.()
        }
        t.same(called, [])
      }
    },
  )

  t.test(`case 14: so is what a hook of the app throws, over ${http2 ? 'HTTP/2' : 'HTTP/1.1'}`, async (t) => {
    const { url, called, left } = await listeningMatrixApp(t, {
      http2,
      limits: { request: '1/60' },
      before: (app) =>
        app.addHook('onRequest', async (_request) => {
          throw new ConnectError('sign in', Code.Unauthenticated)
        }),
    })
    for (const client of matrixClients(url, http2)) {
      for (const kind of client.kinds) {
        const { error } = await client.call(kind, headers)
        t.match(error, { code: 'unauthenticated', message: 'sign in' }, `${client.name}, ${kind}`)
      }
      client.close?.()
    }
    t.same(called, [])
    t.equal(left('writer'), 1, 'RATE-011: and nothing is charged')
  })
}

t.test('other errors of hooks go where they went', async (t) => {
  const call = {
    method: 'POST',
    url: pathOf('Unary'),
    headers: { 'content-type': 'application/json' },
    payload: '{}',
  } as const
  const fail = async (_request: unknown) => {
    throw new Error('out of order')
  }
  t.test('to the default error handler', async (t) => {
    const { app } = await matrixApp(t, { before: (app) => app.addHook('preHandler', fail) })
    t.match(await app.inject(call), { statusCode: 500, body: /out of order/ })
  })
  t.test('to that of the scope', async (t) => {
    const { app } = await matrixApp(t, {
      before: (app) => {
        app.addHook('preHandler', fail)
        app.setErrorHandler((error, _request, reply) => reply.code(418).send(`handled: ${(error as Error).message}`))
      },
    })
    t.match(await app.inject(call), { statusCode: 418, body: 'handled: out of order' })
  })
  t.test('to that of the route', async (t) => {
    const { app } = await matrixApp(t, {
      before: (app) => {
        app.addHook('preHandler', fail)
        app.addHook('onRoute', (route) => {
          route.errorHandler = (error, _request, reply) => reply.code(418).send(`route: ${error.message}`)
        })
      },
    })
    t.match(await app.inject(call), { statusCode: 418, body: 'route: out of order' })
  })
})

t.test(
  'what a hook throws and is no Error is answered as it would be without the plugin, and never as success',
  async (t) => {
    const payload = '{}'
    const call = {
      method: 'POST',
      url: pathOf('Unary'),
      headers: { 'content-type': 'application/json' },
      payload,
    } as const
    for (const [name, thrown] of Object.entries({
      'an object with a status': { statusCode: 401, message: 'no' },
      'an empty object': {},
      'a text': 'no',
    })) {
      for (const [where, handler] of [
        ['the default error handler', undefined],
        [
          'one of the scope',
          (_error: unknown, _request: unknown, reply: FastifyReply) => reply.code(403).send({ handled: true }),
        ],
      ] as const) {
        const fail = async (_request: unknown) => {
          throw thrown
        }
        const app = createFastify(false)
        t.teardown(() => app.close())
        app.addHook('preHandler', fail)
        if (handler !== undefined) app.setErrorHandler(handler)
        app.post('/plain', async () => ({}))
        const { statusCode, body } = await app.inject({ ...call, url: '/plain' })

        const { app: charged, called } = await matrixApp(t, {
          before: (app) => {
            app.addHook('preHandler', fail)
            if (handler !== undefined) app.setErrorHandler(handler)
          },
        })
        const answer = await charged.inject(call)
        t.same({ statusCode: answer.statusCode, body: answer.body }, { statusCode, body }, `${name}, ${where}`)
        t.ok(answer.statusCode >= 400)
        t.same(called, [])
      }
    }
  },
)

t.test('a rejection that cannot be written ends the request', async (t) => {
  for (const http2 of [false, true]) {
    const { url, app } = await listeningMatrixApp(t, {
      http2,
      before: (app) =>
        app.addHook('preHandler', async (_request, reply) => {
          reply.header('x-claim', 'a\u0001b')
          throw new ConnectError('no', Code.PermissionDenied)
        }),
    })
    for (const client of matrixClients(url, http2)) {
      // fetch and connect-web have errors of their own for a connection that ends.
      if (!client.name.startsWith('connect-node')) continue
      for (const kind of client.kinds) t.ok((await client.call(kind, headers)).error, `${client.name}, ${kind}`)
      client.close?.()
    }
    await app.close()
  }
})
