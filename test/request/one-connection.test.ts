import type { FastifyInstance, FastifyRequest } from 'fastify'
import t, { type Test } from 'tap'
import allowance, { type BoundSet, createLimiter } from '../../src/index.ts'
import { limitsOf } from '../support/limiter-of.ts'
import { createFastify, domain, rateLimits } from '../support/matrix-app.ts'
import { headOf, openSocket } from '../support/raw-http1.ts'
import { openSession, send } from '../support/raw-http2.ts'

const peer = { type: 'ip', address: '127.0.0.1' } as const
const ok = async () => 'ok'

/** An app that listens, and requests to it that all come by one connection. */
const onOneConnection = async (t: Test, http2: boolean, build: (app: FastifyInstance) => unknown) => {
  const app = createFastify(http2)
  t.teardown(() => app.close())
  await build(app)
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  if (http2) {
    const session = openSession(t, url)
    return async (path: string) => (await send(session, path, {}, '')).status
  }
  const { write, response } = await openSocket(t, Number(new URL(url).port))
  return async (path: string) => {
    write(headOf(path, [['content-length', 0]]))
    return (await response()).status
  }
}

for (const http2 of [false, true]) {
  const over = `over ${http2 ? 'HTTP/2' : 'HTTP/1.1'}`

  t.test(`every limiter counts the requests of one connection to its own scope, ${over}`, async (t) => {
    const limiters = [
      createLimiter({ rateLimits: rateLimits({ request: '5/60' }) }),
      createLimiter({ rateLimits: rateLimits({ request: '3/60' }) }),
    ]
    const post = await onOneConnection(t, http2, (app) => {
      for (const [i, limiter] of limiters.entries()) {
        app.register(async (scope) => {
          await scope.register(allowance, { domain, limiter })
          scope.post(`/${i}`, { config: { allowance: {} } }, ok)
        })
      }
    })
    const left = () => limiters.map((limiter) => limiter.remaining(peer, 'request')[0]!.units)
    for (const [path, expected] of [
      ['/0', [4, 3]],
      ['/1', [4, 2]],
      ['/0', [3, 2]],
      ['/1', [3, 1]],
      ['/1', [3, 0]],
    ] as const) {
      t.equal(await post(path), 200)
      t.same(left(), expected, path)
    }
    t.equal(await post('/1'), 429)
    t.equal(await post('/0'), 200)
  })

  t.test(`what bounds go by is of each request, not of its connection, ${over}`, async (t) => {
    const seen: unknown[] = []
    const post = await onOneConnection(t, http2, async (app) => {
      await app.register(allowance, { domain, rateLimits: rateLimits({ request: '100/60' }) })
      const { limiter } = app.allowance
      const perRoute: BoundSet = limiter.bounds([{ name: 'route', per: 'route', limits: limitsOf('1/60') }])
      const bounded = { config: { allowance: { bounds: () => perRoute } } }
      const note = async (request: FastifyRequest) => {
        seen.push(request.caller)
        return 'ok'
      }
      app
        .post('/free', { config: { allowance: {} } }, note)
        .post('/a', bounded, note)
        .post('/b', bounded, note)
    })
    const statuses: number[] = []
    for (const path of ['/free', '/a', '/b', '/free', '/a', '/b']) statuses.push(await post(path))
    t.same(statuses, [200, 200, 200, 200, 429, 429])
    t.same(seen, [peer, peer, peer, peer])
    t.equal(new Set(seen).size, seen.length, 'each has a caller of its own')
  })
}
