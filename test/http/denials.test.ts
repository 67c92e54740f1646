import { Code, ConnectError } from '@connectrpc/connect'
import type { FastifyInstance, RouteShorthandOptions } from 'fastify'
import t from 'tap'
import allowance from '../../src/index.ts'
import { createFastify, domain } from '../support/matrix-app.ts'
import { everyone, plainApp } from '../support/plain-app.ts'

const ok = async () => 'ok'

const ways = {
  spend: (request: { spend(category: string, cost: number): Promise<void> }) => request.spend('request', 1),
  reserve: (request: { reserve(category: string, cost: number): Promise<unknown> }) => request.reserve('request', 1),
  hold: (request: { hold(name: string): Promise<unknown> }) => request.hold('slots'),
} as const

for (const [name, take] of Object.entries(ways) as [string, (request: unknown) => Promise<unknown>][]) {
  t.test(
    `a denial that request.${name} throws is answered as the route’s refusal, wherever it is thrown`,
    async (t) => {
      const { ask, limiter, app } = await plainApp(t, {
        limits: { request: '1/60' },
        allowance: { holds: [{ name: 'slots', per: 'everyone', count: 1, retryDelaySeconds: 60 }] },
        routes: async (app) => {
          const inHook = (hook: string): RouteShorthandOptions => ({
            [hook]: async (request: unknown) => void (await take(request)),
          })
          for (const hook of ['onRequest', 'preParsing', 'preValidation', 'preHandler'])
            app.post(`/${hook}`, inHook(hook), ok)
          app.get('/handler', async (request) => void (await take(request)))
          app.get('/after-headers', async (request, reply) => {
            reply.code(201).type('text/html').header('content-length', 5)
            await take(request)
          })
          app.get('/caught', async (request) => {
            const error = await take(request).then(
              () => undefined,
              (error: unknown) => error,
            )
            return { code: error instanceof ConnectError && error.code }
          })
          app.get(
            '/own-handler',
            { errorHandler: (_error, _request, reply) => reply.code(418).send('mine') },
            async (request) => void (await take(request)),
          )
          await app.register(async (scope) => {
            scope.setErrorHandler((_error, _request, reply) => reply.code(418).send('the scope’s'))
            scope.get('/scope', async (request) => void (await take(request)))
          })
          app.get(
            '/rendered',
            { config: { allowance: { free: true, renderRejection: () => 'rendered' } } },
            async (request) => void (await take(request)),
          )
          await app.register(async (scope) => {
            scope.addHook('onRequest', async (request) => void (await take(request)))
            scope.get('/scope-hook', ok)
          })
        },
      })
      await app.ready()
      limiter.spend({ type: 'api_key', name: 'a' }, 'request', 1)
      limiter.hold({ type: 'api_key', name: 'a' }, 'slots')
      const policy = name === 'hold' ? 'slots' : 'caller'
      const refusal = {
        statusCode: 429,
        headers: {
          'retry-after': '60',
          'content-type': 'application/problem+json; charset=utf-8',
          ratelimit: `"${policy}";r=0;t=60`,
        },
      }
      for (const hook of ['onRequest', 'preParsing', 'preValidation', 'preHandler']) {
        const answer = await ask(`/${hook}`, { method: 'POST', payload: { some: 'body' } })
        t.match(answer, refusal, hook)
      }
      for (const url of ['/handler', '/after-headers', '/own-handler', '/scope', '/scope-hook']) {
        const answer = await ask(url)
        t.match(answer, refusal, url)
        t.same(answer.json()['violated-policies'], [policy], url)
      }
      t.match(await ask('/rendered'), { statusCode: 429, body: 'rendered', headers: { 'retry-after': '60' } })
      t.same((await ask('/caught')).json(), { code: Code.ResourceExhausted }, 'it is a ConnectError to who catches it')
    },
  )
}

t.test('a denial by the bounds of the route tells of those', async (t) => {
  const { ask } = await plainApp(t, {
    limits: { request: '100/60' },
    routes: (app) =>
      app.get('/', { config: { allowance: { bounds: [everyone('3/60', 'few')] } } }, async (request) => {
        await request.spend('request', 2)
        return 'ok'
      }),
  })
  t.equal((await ask('/')).statusCode, 200)
  t.match(await ask('/'), { statusCode: 429, headers: { ratelimit: '"few";r=0;t=20' } })
})

/** Ways to fail that are none of the plugin's business. */
const failures: Record<string, () => unknown> = {
  'an Error': () => new Error('broken'),
  'an Error with a status': () =>
    Object.assign(new Error('teapot'), { statusCode: 418, headers: { 'x-tea': 'green' } }),
  'a ConnectError of the app': () => new ConnectError('not here', Code.NotFound),
  'a string': () => 'text',
  'an object': () => ({ some: 'object' }),
  null: () => null,
  undefined: () => undefined,
  'a number': () => 7,
}
const handlers: Record<string, (app: FastifyInstance) => void> = {
  none: () => {},
  'one that answers': (app) =>
    app.setErrorHandler((error, _request, reply) => reply.code(400).send({ handled: String(error) })),
  'an async one': (app) => app.setErrorHandler(async (error) => ({ handled: String(error) })),
  'one that throws it on': (app) =>
    app.setErrorHandler((error) => {
      throw error
    }),
  'one that throws another': (app) =>
    app.setErrorHandler(() => {
      throw new Error('another')
    }),
}

t.test('other errors are answered as without the plugin, and logged and told to hooks as often', async (t) => {
  for (const [handled, setErrorHandler] of Object.entries(handlers)) {
    const run = async (withPlugin: boolean) => {
      const lines: string[] = []
      const told: unknown[] = []
      const logger = { level: 'info', stream: { write: (line: string) => void lines.push(line) } }
      const app = createFastify(false, { logger, disableRequestLogging: true } as object)
      t.teardown(() => app.close())
      if (withPlugin) await app.register(allowance, { domain, routes: {} })
      app.addHook('onError', async (_request, _reply, error) => void told.push(error))
      setErrorHandler(app)
      for (const [name, make] of Object.entries(failures)) {
        app.get(`/${name}`, async () => {
          throw make()
        })
        app.get(`/sync ${name}`, () => {
          throw make()
        })
        app.get(`/hook ${name}`, { preHandler: (_request, _reply, done) => done(make() as Error) }, ok)
        const errorHandler: NonNullable<RouteShorthandOptions['errorHandler']> = (error, _request, reply) =>
          void reply.code(402).send(`mine: ${error}`)
        app.get(`/own ${name}`, { errorHandler }, async () => {
          throw make()
        })
      }
      const answers: Record<string, unknown> = {}
      for (const name of Object.keys(failures)) {
        for (const url of [`/${name}`, `/sync ${name}`, `/hook ${name}`, `/own ${name}`]) {
          lines.length = 0
          told.length = 0
          const { statusCode, headers, body } = await app.inject(encodeURI(url))
          const logged = lines
            .map((line) => JSON.parse(line))
            .map(({ level, msg, err }) => ({ level, msg, err: err?.message }))
          answers[url] = { statusCode, headers: { ...headers, date: '' }, body, told: [...told].map(String), logged }
        }
      }
      return answers
    }
    const [without, withIt] = [await run(false), await run(true)]
    for (const [url, answer] of Object.entries(without))
      t.same(withIt[url], answer, `${url}, error handler: ${handled}`)
  }
})
