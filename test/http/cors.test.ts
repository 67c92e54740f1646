import fastifyCors from '@fastify/cors'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { plainApp } from '../support/plain-app.ts'

const origin = 'https://app.example.com'
const corsOf = (options: object) => (app: FastifyInstance) => void app.register(fastifyCors, { origin, ...options })
const ok = async () => 'ok'
const charged = (app: FastifyInstance) => {
  app.get('/', { config: { allowance: {} } }, ok).get('/spends', (request) => request.spend('request', 1))
}

t.test('with CORS, before the plugin or after it, pages may read Retry-After and the fields', async (t) => {
  const cors = corsOf({ exposedHeaders: ['X-Own'], credentials: true })
  const orders = {
    before: { before: cors, routes: charged },
    after: {
      routes: (app: FastifyInstance) => {
        charged(app)
        cors(app)
      },
    },
  }
  for (const [name, order] of Object.entries(orders)) {
    for (const [fields, names] of [
      ['draft-11', 'RateLimit, RateLimit-Policy'],
      ['legacy', 'RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset'],
      ['none', ''],
    ] as const) {
      const { ask } = await plainApp(t, {
        limits: { request: '2/60' },
        allowance: { rateLimitHeaders: { fields, always: true }, notFound: {} },
        ...order,
      })
      const exposed = async (url: string) => {
        const { headers } = await ask(url, { headers: { origin } })
        t.equal(headers['access-control-allow-origin'], origin, `${name}, ${url}`)
        return headers['access-control-expose-headers']
      }
      const admitted = ['X-Own', names].filter(Boolean).join(', ')
      const refused = ['X-Own', 'Retry-After', names].filter(Boolean).join(', ')
      t.equal(await exposed('/'), admitted, `CORS ${name}, ${fields}: admitted`)
      t.equal(await exposed('/nowhere'), admitted, `CORS ${name}, ${fields}: no route`)
      t.equal(await exposed('/'), refused, `CORS ${name}, ${fields}: refused`)
      t.equal(await exposed('/nowhere'), refused, `CORS ${name}, ${fields}: no route, refused`)
      t.equal(await exposed('/spends'), refused, `CORS ${name}, ${fields}: a denial that was thrown`)
    }
  }
})

t.test('without CORS nothing is exposed, and what is exposed already stays as it is', async (t) => {
  const { ask } = await plainApp(t, { limits: { request: '1/60' }, routes: charged })
  await ask('/')
  t.notOk('access-control-expose-headers' in (await ask('/', { headers: { origin } })).headers)

  const open = await plainApp(t, {
    limits: { request: '1/60' },
    before: corsOf({ exposedHeaders: '*' }),
    routes: charged,
  })
  await open.ask('/')
  t.equal((await open.ask('/', { headers: { origin } })).headers['access-control-expose-headers'], '*')
})

t.test('a preflight of a spent caller is answered, and charged nothing', async (t) => {
  const { ask, left } = await plainApp(t, {
    limits: { request: '1/60' },
    allowance: { routes: {}, notFound: {} },
    before: corsOf({ methods: ['GET', 'DELETE'] }),
    routes: charged,
  })
  const preflight = () =>
    ask('/', { method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'DELETE' } })
  t.match(await preflight(), { statusCode: 204, headers: { 'access-control-allow-methods': 'GET, DELETE' } })
  t.same(left(), [1])
  await ask('/')
  t.equal((await preflight()).statusCode, 204)
})
