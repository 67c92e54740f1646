import { Code, ConnectError } from '@connectrpc/connect'
import t from 'tap'
import type { AllowanceOptions } from '../../src/index.ts'
import { everyone, plainApp } from '../support/plain-app.ts'

const ok = async () => 'ok'

const routesOf = (identify: AllowanceOptions['identify']): Parameters<typeof plainApp>[1] => ({
  limits: { request: '10/60' },
  allowance: { identify, notFound: {}, bounds: [everyone('100/60')] } as Partial<AllowanceOptions>,
  routes: async (app) => {
    app.get('/', { config: { allowance: {} } }, ok)
    app.post('/late', { config: { allowance: { step: 'preHandler' } } }, ok)
    app.get('/spends', (request) => request.spend('request', 1))
    await app.register(async (scope) => {
      scope.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) =>
        reply
          .code(error.statusCode ?? 500)
          .send({ handled: error.message, wasConnect: error.cause instanceof ConnectError }),
      )
      scope.get('/scope', { config: { allowance: {} } }, ok)
    })
  },
})

t.test(
  'a ConnectError of identify is answered by its status and its words, without numbers of codes and details',
  async (t) => {
    const { ask, log } = await plainApp(
      t,
      routesOf(() => {
        const metadata = { 'www-authenticate': 'Bearer', 'transfer-encoding': 'chunked' }
        const details = [{ type: 'secret.v1.Detail', value: new Uint8Array([1, 2, 3]) }]
        const error = new ConnectError('unknown key', Code.Unauthenticated, metadata, undefined, new Error('sk-secret'))
        error.details.push(...details)
        throw error
      }),
    )
    const asked = [
      await ask('/'),
      await ask('/late', { method: 'POST', payload: {} }),
      await ask('/spends'),
      await ask('/nowhere'),
    ]
    for (const { statusCode, headers, body } of asked) {
      t.equal(statusCode, 401)
      t.equal(headers['www-authenticate'], 'Bearer')
      t.same(JSON.parse(body), {
        statusCode: 401,
        code: 'unauthenticated',
        error: 'Unauthorized',
        message: 'unknown key',
      })
    }
    t.same((await ask('/scope')).json(), { handled: 'unknown key', wasConnect: true })
    t.same(log, [], 'of a client’s mistake no warning')
  },
)

t.test('each code of a ConnectError has its status', async (t) => {
  for (const [code, statusCode] of [
    [Code.PermissionDenied, 403],
    [Code.Unavailable, 503],
    [Code.InvalidArgument, 400],
    [Code.Internal, 500],
  ] as const) {
    const { ask } = await plainApp(
      t,
      routesOf(async () => {
        throw new ConnectError('no', code)
      }),
    )
    t.match(await ask('/'), { statusCode })
    t.match(await ask('/spends'), { statusCode })
  }
})

t.test('another error of identify goes to Fastify as it is; what is none is shown to nobody', async (t) => {
  const error = Object.assign(new Error('expired'), { statusCode: 401, code: 'EXPIRED' })
  const { ask } = await plainApp(
    t,
    routesOf(() => {
      throw error
    }),
  )
  const expected = { statusCode: 401, code: 'EXPIRED', error: 'Unauthorized', message: 'expired' }
  for (const url of ['/', '/spends', '/nowhere']) t.same((await ask(url)).json(), expected, url)
  t.match((await ask('/scope')).json(), { handled: 'expired' })

  const secret = await plainApp(
    t,
    routesOf(() => Promise.reject('sk-secret')),
  )
  for (const url of ['/', '/spends', '/nowhere']) {
    t.match((await secret.ask(url)).json(), { statusCode: 500, message: 'identify threw what is no Error' }, url)
  }
  t.notMatch(JSON.stringify(secret.log), 'sk-secret')
})

t.test('an identity that is none is a mistake of the app', async (t) => {
  for (const identity of [{ type: 'key', name: 'a' }, 'ann', 7, { type: 'api_key', name: 'a', user: 7 }]) {
    const { ask, left } = await plainApp(
      t,
      routesOf(() => identity as never),
    )
    const answer = await ask('/')
    t.equal(answer.statusCode, 500)
    t.match(answer.json().message, /^identify returned no identity: (caller|caller\.type|identity\.user): must be /)
    t.equal((await ask('/spends')).statusCode, 500)
    t.equal(left()[0], 10)
  }
})

t.test('what is probably a misspelt attribute of the identity is warned of once, without its value', async (t) => {
  const identity = {
    type: 'jwt',
    sub: 'a',
    exp: 1,
    scope: 'sk',
    organization: 'sk',
    role: ['sk'],
    user: 'a',
    userId: 'sk',
  }
  const { ask, log } = await plainApp(
    t,
    routesOf(() => identity as never),
  )
  await ask('/')
  await ask('/spends')
  t.match(log, [
    {
      level: 40,
      msg: 'fastify-allowance: identify returned what is not read: "organization" (did you mean "organisation"?), "role" (did you mean "roles"?)',
    },
  ])
  t.equal(log.length, 1)
})
