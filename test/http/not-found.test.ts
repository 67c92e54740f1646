import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import type { InjectOptions } from 'fastify'
import t from 'tap'
import { everyone, listeningPlainApp, plainApp } from '../support/plain-app.ts'

const ok = async () => 'ok'

t.test('requests that no route takes cost nothing, unless the option notFound says so', async (t) => {
  const { statuses, left } = await plainApp(t, { allowance: { routes: {} }, routes: (app) => app.get('/', ok) })
  t.equal(await statuses(2, '/x'), '404 404')
  t.same(left(), [1000])
})

t.test('notFound: unknown paths and wrong methods, whatever their body is', async (t) => {
  for (const step of ['onRequest', 'preHandler'] as const) {
    const { ask, left } = await plainApp(t, {
      allowance: { notFound: { step } },
      routes: (app) => app.get('/only-get', ok),
    })
    const json = { 'content-type': 'application/json' }
    const requests: [string, InjectOptions, number][] = [
      ['/x', {}, 404],
      ['/x', { method: 'HEAD' }, 404],
      ['/x', { method: 'OPTIONS' }, 404],
      ['/only-get', { method: 'POST' }, 404],
      ['/only-get', { method: 'DELETE' }, 404],
      ['/only-get', { method: 'PUT', payload: '{}', headers: json }, 404],
      ['//only-get', {}, 404],
      ['/x', { method: 'POST', payload: '{', headers: json }, 400],
      ['/x', { method: 'POST', payload: 'x', headers: { 'content-type': 'application/strange' } }, 404],
      ['/x', { method: 'POST', payload: 'x', headers: { 'content-type': 'none at all' } }, 415],
    ]
    let before = left()[0]!
    for (const [url, more, status] of requests) {
      t.equal((await ask(url, more)).statusCode, status, `${step}: ${more.method} ${url}`)
      const charged = before - left()[0]!
      before = left()[0]!
      t.equal(charged, step === 'preHandler' && status !== 404 ? 0 : 1, `${step}: ${more.method} ${url} is charged`)
    }
    t.equal((await ask('/only-get')).statusCode, 200)
    t.equal(left()[0], before, 'a route is not')
  }
})

t.test('notFound: refused like a plain route, bounds and all, with a not-found handler of the app’s own', async (t) => {
  const { ask, statuses } = await plainApp(t, {
    limits: { request: '' },
    allowance: { notFound: { bounds: [everyone('2/60', 'lost')] }, rateLimitHeaders: { always: true } },
    routes: async (app) => {
      app.setNotFoundHandler((_request, reply) => reply.code(404).send('nothing'))
      app.get('/found', (_request, reply) => reply.callNotFound())
      await app.register(async (scope) => void scope.setNotFoundHandler((_, reply) => reply.code(404).send('below')), {
        prefix: '/scope',
      })
    },
  })
  t.match(await ask('/x'), { statusCode: 404, body: 'nothing', headers: { ratelimit: '"lost";r=1;t=30' } })
  t.match(await ask('/scope/x'), { statusCode: 404, body: 'below', headers: { ratelimit: '"lost";r=0;t=30' } })
  const refused = await ask('/x')
  t.match(refused, { statusCode: 429, headers: { 'retry-after': '30', ratelimit: '"lost";r=0;t=30' } })
  t.match(refused.headers['content-type'], 'application/problem+json')
  t.equal(await statuses(1, '/scope/y'), '429')
  t.equal(await statuses(3, '/found'), '404 404 404', 'a route took it')
})

t.test('what Fastify and Node answer before any hook costs nothing', async (t) => {
  const { url, port, limiter } = await listeningPlainApp(t, {
    allowance: { notFound: {}, routes: {} },
    routes: (app) => app.get('/:id', ok),
  })
  t.equal((await fetch(`${url}/%ff`)).status, 400)
  t.equal((await fetch(`${url}/${'x'.repeat(2000)}`)).status, 414, 'a parameter that is too long')
  const raw = async (request: string) => {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    socket.write(request)
    return (await text(socket)).slice(9, 12)
  }
  t.equal(await raw(`GET / HTTP/1.1\r\nhost: x\r\nx-long: ${'x'.repeat(20_000)}\r\n\r\n`), '431')
  t.equal(await raw('nonsense\r\n\r\n'), '400')
  const address = limiter.resolve({ type: 'ip', address: '127.0.0.1' })
  t.equal(limiter.remaining(address, 'request')[0]!.units, 1000)
})

t.test(
  'requests that no route takes share what a bound per route admits, whatever their path and method',
  async (t) => {
    const { ask } = await plainApp(t, {
      allowance: {
        bounds: [{ name: 'route', per: 'route', limits: [{ count: 2, windowSeconds: 60 }] }],
        notFound: {},
      },
      routes: () => {},
    })
    const statuses = []
    for (const [method, url] of [
      ['GET', '/a'],
      ['POST', '/b'],
      ['DELETE', '/c'],
    ] as const) {
      statuses.push((await ask(url, { method })).statusCode)
    }
    t.same(statuses, [404, 404, 429])
  },
)
