import { create, type DescService } from '@bufbuild/protobuf'
import type { ConnectRouter, Interceptor } from '@connectrpc/connect'
import { fastifyConnectPlugin } from '@connectrpc/connect-fastify'
import t from 'tap'
import { type ConnectOptions, manualClock } from '../../src/index.ts'
import { MatrixService } from '../gen/test/v1/matrix_pb.ts'
import { bareApp, chargedFor } from '../support/charged-for.ts'
import { listeningMatrixApp, matrixService, pathOf, rateLimits } from '../support/matrix-app.ts'
import { matrixClients } from '../support/matrix-clients.ts'

const { unary } = MatrixService.method

/** An interceptor that writes its name down. */
const noting =
  (ran: string[], name: string): Interceptor =>
  (next) =>
  (request) => {
    ran.push(name)
    return next(request)
  }

/** Ways to give interceptors, and which of them run. Those of a service or method replace the router's: so it is in Connect. */
const ways = (ran: string[]): Record<string, { connect: ConnectOptions; runs: string[] }> => {
  const note = (name: string) => noting(ran, name)
  const routes = (router: ConnectRouter) => router.service(MatrixService, matrixService(ran))
  return {
    none: { connect: { routes }, runs: ['Unary'] },
    "the router's": { connect: { routes, interceptors: [note('a'), note('b')] }, runs: ['a', 'b', 'Unary'] },
    "a service's": {
      connect: {
        routes: (router) => router.service(MatrixService, matrixService(ran), { interceptors: [note('service')] }),
      },
      runs: ['service', 'Unary'],
    },
    "a service's instead of the router's": {
      connect: {
        routes: (router) => router.service(MatrixService, matrixService(ran), { interceptors: [note('service')] }),
        interceptors: [note('router')],
      },
      runs: ['service', 'Unary'],
    },
    'an empty list of a service': {
      connect: {
        routes: (router) => router.service(MatrixService, matrixService(ran), { interceptors: [] }),
        interceptors: [note('router')],
      },
      runs: ['Unary'],
    },
    'other options of a service': {
      connect: {
        routes: (router) => router.service(MatrixService, matrixService(ran), { readMaxBytes: 10_000 }),
        interceptors: [note('router')],
      },
      runs: ['router', 'Unary'],
    },
    "a method's": {
      connect: {
        routes: (router) => router.rpc(unary, matrixService(ran).unary, { interceptors: [note('method')] }),
        interceptors: [note('router')],
      },
      runs: ['method', 'Unary'],
    },
    "the router's for a method": {
      connect: { routes: (router) => router.rpc(unary, matrixService(ran).unary), interceptors: [note('router')] },
      runs: ['router', 'Unary'],
    },
  }
}

t.test('case 10: interceptors of the app run as they do without the plugin, and charges are made', async (t) => {
  const ran: string[] = []
  for (const [name, { connect, runs }] of Object.entries(ways(ran))) {
    t.test(name, async (t) => {
      const app = await bareApp(t)
      await app.register(fastifyConnectPlugin, app.allowance.connect(connect))
      ran.length = 0
      t.same(await chargedFor(app, pathOf('Unary')), { status: 200, request: 1, work: 2 })
      t.same(ran, runs)
    })
  }
})

t.test(
  'RATE-010: charges come before the interceptors of the app: none of them runs for a denied message',
  async (t) => {
    const ran: string[] = []
    for (const [name, { connect }] of Object.entries(ways(ran))) {
      t.test(name, async (t) => {
        const limits = rateLimits({ request: '100/60', work: '100/60' })
        const app = await bareApp(t, {
          rateLimits: limits,
          clock: manualClock(),
          identify: () => ({ type: 'api_key', name: 'all' }),
        })
        await app.register(fastifyConnectPlugin, app.allowance.connect(connect))
        app.allowance.limiter.spend({ type: 'api_key', name: 'all' }, 'work', 99)
        ran.length = 0
        t.match(await chargedFor(app, pathOf('Unary')), { status: 429 })
        t.same(ran, [])
      })
    }
  },
)

t.test(
  'RATE-011: what an interceptor answers for an RPC that nobody implemented is no answer, as it costs nothing',
  async (t) => {
    const gateway: Interceptor = () => async (request) =>
      request.stream
        ? { ...base(request), stream: true, method: request.method, message: (async function* () {})() }
        : { ...base(request), stream: false, method: request.method, message: create(request.method.output) }
    const base = ({ service, requestMethod }: { service: DescService; requestMethod: string }) =>
      ({ service, requestMethod, header: new Headers(), trailer: new Headers() }) as const
    const { url, left } = await listeningMatrixApp(t, {
      http2: true,
      limits: { request: '5/60', work: '5/60' },
      connect: { routes: (router) => router.service(MatrixService, {}), interceptors: [gateway] },
    })
    for (const client of matrixClients(url, true)) {
      for (const kind of client.kinds) {
        t.match(
          await client.call(kind, { 'x-caller': 'writer' }),
          {
            received: [],
            error: { code: 'internal', message: /is answered by an interceptor and has no implementation/ },
          },
          `${client.name}, ${kind}`,
        )
      }
      client.close?.()
    }
    t.equal(left('writer'), 5)
    t.equal(left('writer', 'work'), 5)
  },
)
