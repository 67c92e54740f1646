import { cors as connectCors } from '@connectrpc/connect'
import fastifyCors from '@fastify/cors'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { apiKey } from './support/limiter-of.ts'
import { listeningMatrixApp, pathOf } from './support/matrix-app.ts'
import { openSession, send } from './support/raw-http2.ts'
import { envelope } from './support/wire.ts'

const origin = 'https://app.example.com'
const cors = (app: FastifyInstance) =>
  app.register(fastifyCors, {
    origin,
    credentials: true,
    methods: [...connectCors.allowedMethods],
    allowedHeaders: [...connectCors.allowedHeaders, 'x-caller'],
    exposedHeaders: [...connectCors.exposedHeaders, 'Retry-After'],
  })

const orders = {
  'CORS before the plugin': { before: cors },
  'CORS after all RPCs': { after: cors },
}

/** The headers by which a browser decides what a page may read. */
const corsHeaders = (headers: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('access-control-') || name === 'vary'))

for (const [name, order] of Object.entries(orders)) {
  for (const http2 of [false, true]) {
    t.test(`case 8, over ${http2 ? 'HTTP/2' : 'HTTP/1.1'}: ${name}`, async (t) => {
      const { url, limiter, left } = await listeningMatrixApp(t, { http2, limits: { request: '1/60' }, ...order })
      const session = http2 ? openSession(t, url) : undefined
      const ask = async (method: string, rpc: string, headers: Record<string, string>, body?: string) => {
        if (session !== undefined) {
          const answer = await send(session, pathOf(rpc), { ':method': method, ...headers }, body)
          return { status: answer.status, headers: answer.headers }
        }
        const answer = await fetch(url + pathOf(rpc), { method, headers, ...(body !== undefined && { body }) })
        await answer.arrayBuffer()
        return { status: answer.status, headers: Object.fromEntries(answer.headers) }
      }

      t.test('a preflight of a caller with nothing left is answered and charged nothing', async (t) => {
        limiter.spend(apiKey('spent'), 'request', 1)
        const preflight = {
          origin,
          'x-caller': 'spent',
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'content-type,connect-protocol-version',
        }
        const answer = await ask('OPTIONS', 'Unary', preflight)
        t.equal(answer.status, 204)
        t.match(answer.headers, {
          'access-control-allow-origin': origin,
          'access-control-allow-methods': 'POST, GET',
        })
        await ask('OPTIONS', 'Unary', { ...preflight, 'x-caller': 'fresh' })
        t.equal(left('fresh'), 1)
      })

      t.test('a denied request has the same Access-Control-* headers as an admitted one', async (t) => {
        const bodies = {
          'application/json': ['Unary', '{}'],
          'application/proto': ['Unary', ''],
          'application/connect+json': ['ServerStream', envelope('{}').toString('latin1')],
          'application/grpc-web+proto': ['Unary', envelope('').toString('latin1')],
        } as const
        for (const [type, [rpc, body]] of Object.entries(bodies)) {
          const headers = { origin, 'content-type': type, 'x-caller': `of ${type}` }
          const admitted = await ask('POST', rpc, headers, body)
          t.equal(left(`of ${type}`), 0)
          const denied = await ask('POST', rpc, headers, body)
          const status = type === 'application/json' || type === 'application/proto' ? 429 : 200
          t.equal(denied.status, status, `${type} is denied`)
          t.same(corsHeaders(denied.headers), corsHeaders(admitted.headers), type)
          t.match(corsHeaders(denied.headers), {
            'access-control-allow-origin': origin,
            'access-control-allow-credentials': 'true',
            'access-control-expose-headers': /Retry-After/,
          })
        }
      })
    })
  }
}

t.test('headers that other hooks of the app set go along with a rejection', async (t) => {
  const { app, limiter } = await listeningMatrixApp(t, {
    limits: { request: '1/60' },
    before: (app) =>
      app.addHook('onRequest', async (_, reply) => {
        reply.header('x-request-id', 'r-1').header('set-cookie', ['a=1', 'b=2']).header('content-type', 'text/html')
      }),
  })
  limiter.spend(apiKey('spent'), 'request', 1)
  const answer = await app.inject({
    method: 'POST',
    url: pathOf('Unary'),
    headers: { 'x-caller': 'spent', 'content-type': 'application/json' },
    payload: '{}',
  })
  t.equal(answer.statusCode, 429)
  t.match(answer.headers, {
    'x-request-id': 'r-1',
    'set-cookie': ['a=1', 'b=2'],
    'content-type': 'application/json',
    'retry-after': '60',
  })
})
