import t from 'tap'
import { MatrixService } from './gen/test/v1/matrix_pb.ts'
import { apiKey } from './support/limiter-of.ts'
import { matrixApp, matrixService, pathOf } from './support/matrix-app.ts'
import { ofConnectJson, rejectionOf } from './support/rejection.ts'

const json = { 'content-type': 'application/json' }

t.test('RATE-014: a denied request unit decides over every other condition of the request', async (t) => {
  const server = await matrixApp(t, {
    limits: { request: '1/60' },
    connect: {
      routes: (router) => router.service(MatrixService, matrixService(), { readMaxBytes: 10 }),
      requireConnectProtocolHeader: true,
      maxTimeoutMs: 1,
    },
  })
  const { app, limiter, called } = server
  const conditions = {
    nothing: { status: 400, headers: json, payload: '{}' },
    'a malformed body': { status: 400, headers: json, payload: '{"items":' },
    'a message of another type': { status: 400, headers: json, payload: '[1]' },
    'an unknown content type': { status: 415, headers: { 'content-type': 'text/yaml' }, payload: 'a: 1' },
    'a content type that is none': { status: 415, headers: { 'content-type': 'nonsense' }, payload: 'a' },
    'no content type': { status: 415, headers: {}, payload: undefined },
    'a wrong method': { status: 405, method: 'PUT', headers: json, payload: '{}' },
    DELETE: { status: 405, method: 'DELETE', headers: {}, payload: undefined },
    PATCH: { status: 405, method: 'PATCH', headers: json, payload: '{}' },
    'a wrong protocol version': {
      status: 400,
      headers: { ...json, 'connect-protocol-version': '7' },
      payload: '{}',
    },
    'an unknown compression': {
      status: 501,
      headers: { ...json, 'connect-protocol-version': '1', 'content-encoding': 'zip' },
      payload: '{}',
    },
    'a body over the bound of Connect': {
      status: 429,
      headers: { ...json, 'connect-protocol-version': '1' },
      payload: '{"items":["a"]}',
    },
    'a timeout that is none': {
      status: 400,
      headers: { ...json, 'connect-protocol-version': '1', 'connect-timeout-ms': 'soon' },
      payload: '{}',
    },
    'GET of an RPC without a message': { status: 415, method: 'GET', headers: {}, payload: undefined },
  } as const

  for (const [what, { status, headers, payload, ...more }] of Object.entries(conditions)) {
    const method = 'method' in more ? more.method : 'POST'
    const ask = (caller: string) =>
      app.inject({
        method,
        url: pathOf('Unary'),
        headers: { ...headers, 'x-caller': caller },
        ...(payload !== undefined && { payload }),
      })
    const before = called.length
    const fresh = await ask(`fresh, ${what}`)
    t.equal(fresh.statusCode, status, `${what}: HTTP ${status} while admitted`)
    limiter.spend(apiKey(`spent, ${what}`), 'request', 1)
    const refused = await ask(`spent, ${what}`)
    t.equal(refused.statusCode, 429, what)
    t.same(ofConnectJson(refused.json(), refused.headers['retry-after']), rejectionOf('request', 60_000), what)
    t.equal(called.length, before, 'no handler ran')
  }
})

t.test('RATE-014: the request is charged before the hooks of its route, whoever added them when', async (t) => {
  const seen: number[] = []
  const { app, left } = await matrixApp(t, {
    limits: { request: '5/60' },
    before: (app) =>
      app.addHook('onRoute', (route) => {
        const own = async () => void seen.push(left('writer'))
        route.onRequest = [...[route.onRequest ?? []].flat(), (_request, _reply, done) => void own().then(() => done())]
      }),
  })
  const headers = { 'x-caller': 'writer', 'content-type': 'application/json' }
  t.equal((await app.inject({ method: 'POST', url: pathOf('Unary'), headers, payload: '{}' })).statusCode, 200)
  t.same(seen, [4])
})
