import { Code, ConnectError } from '@connectrpc/connect'
import t from 'tap'
import type { AllowanceOptions, BoundSet, Denial } from '../../src/index.ts'
import { limitsOf, second } from '../support/limiter-of.ts'
import { everyone, plainApp } from '../support/plain-app.ts'

const ok = async () => 'ok'
const bound = (name: string, per: 'address' | 'caller' | 'user' | 'everyone' | 'route', limits: string) => ({
  name,
  per,
  limits: limitsOf(limits),
})

t.test(
  'the caller’s limits, the plugin’s bounds and the route’s must all admit; the first exceeded names it',
  async (t) => {
    const denials: Denial[] = []
    const { ask, statuses, left } = await plainApp(t, {
      limits: { request: '3/60' },
      allowance: { bounds: [bound('address', 'address', '2/60')], onDenied: (denial) => void denials.push(denial) },
      routes: (app) =>
        app
          .get('/tight', { config: { allowance: { bounds: [bound('one', 'everyone', '1/7')] } } }, ok)
          .get('/wide', { config: { allowance: {} } }, ok),
    })
    t.equal(await statuses(2, '/tight'), '200 429')
    t.same(left(), [2, 1], 'a refused request is charged nowhere')
    t.equal(await statuses(2, '/wide'), '200 429')
    const { headers } = await ask('/tight')
    t.equal(headers['retry-after'], '30', 'the longest delay')
    t.match(denials, [
      { bound: 'one', category: 'request', retryDelayMs: 7000 },
      { bound: 'address', category: 'request', retryDelayMs: 30_000 },
      { bound: 'address', exceeded: [{ bound: 'address' }, { bound: 'one', retryDelayMs: 7000 }] },
    ])
  },
)

/** An app whose `identify` is counted. */
const counting = async (step: 'onRequest' | 'preHandler', more: Partial<AllowanceOptions> = {}) => {
  const asked = { times: 0 }
  const built = await plainApp(t, {
    limits: { request: '' },
    allowance: {
      bounds: [bound('address', 'address', '2/60'), bound('user', 'user', '1/60')],
      identify: (request) => {
        asked.times++
        const user = request.headers['x-user']
        if (user === 'forged') throw new ConnectError('no', Code.Unauthenticated)
        return { type: 'api_key', name: String(user), user: String(user) }
      },
      ...more,
    },
    routes: (app) => app.post('/', { config: { allowance: { step } } }, ok),
  })
  const post = async (user: string) =>
    (await built.ask('/', { method: 'POST', payload: {}, headers: { 'x-user': user } })).statusCode
  const leftToAddress = () =>
    built.limiter.remaining(built.limiter.resolve({ type: 'ip', address: '127.0.0.1' }), 'request')[0]!.units
  return { ...built, asked, post, leftToAddress }
}

for (const step of ['onRequest', 'preHandler'] as const) {
  t.test(
    `${step}: bounds that need no identity come first, are kept when authentication rejects, and else given back`,
    async (t) => {
      const { post, asked, leftToAddress, clock } = await counting(step)
      t.equal(await post('u'), 200)
      t.equal(leftToAddress(), 1)
      t.equal(await post('u'), 429, 'the user’s')
      t.equal(leftToAddress(), 1, 'given back')
      t.equal(asked.times, 2)
      t.equal(await post('forged'), 401)
      t.equal(leftToAddress(), 0, 'kept')
      t.equal(asked.times, 3)
      t.equal(await post('v'), 429, 'the address’s')
      t.equal(asked.times, 3, 'without asking who it is')
      clock.advance(30n * second)
      t.equal(await post('v'), 200)
    },
  )
}

t.test('nobody is identified where nothing asks for it', async (t) => {
  let asked = 0
  const { statuses } = await plainApp(t, {
    limits: { request: '' },
    allowance: {
      bounds: [bound('address', 'address', '4/60')],
      identify: () => {
        asked++
        return undefined
      },
    },
    routes: (app) =>
      app
        .get('/', { config: { allowance: {} } }, ok)
        .get('/mine', { config: { allowance: { bounds: [bound('mine', 'caller', '4/60')] } } }, ok),
  })
  t.equal(await statuses(2, '/'), '200 200')
  t.equal(asked, 0)
  t.equal(await statuses(1, '/mine'), '200')
  t.equal(asked, 1)
})

t.test(
  'bounds by a function of the request: a set, several, none; what is no set is a mistake of the app',
  async (t) => {
    let sets: Record<string, unknown> = {}
    const { ask, statuses, app } = await plainApp(t, {
      allowance: { rateLimits: { maxMemoryMib: 8, boundsMemoryMib: 1, categories: { request: { default: [] } } } },
      routes: (app) =>
        app.get(
          '/:set',
          { config: { allowance: { bounds: (request) => sets[(request.params as { set: string }).set] as BoundSet } } },
          ok,
        ),
    })
    const { limiter } = app.allowance
    const [one, two] = [limiter.bounds([everyone('1/60', 'one')]), limiter.bounds([everyone('2/60', 'two')])]
    sets = { one, two, both: [two, one], list: [everyone('1/60')], promised: Promise.resolve(one), text: 'one' }
    t.equal(await statuses(2, '/both'), '200 429')
    t.equal(await statuses(1, '/one'), '429')
    t.equal(await statuses(2, '/two'), '200 429')
    t.equal(await statuses(3, '/none'), '200 200 200')
    const message =
      'GET /:set: config.allowance.bounds must return what limiter.bounds() made, a list of such, or undefined'
    for (const wrong of ['list', 'promised', 'text']) t.equal((await ask(`/${wrong}`)).json().message, message, wrong)

    const three = limiter.bounds([everyone('1/60', 'three')])
    sets = { one: three }
    t.equal(await statuses(2, '/one'), '200 429', 'a set made while the app runs')
    three.dispose()
    t.equal(await statuses(1, '/one'), '500', 'and one that is gone admits nothing')
  },
)

t.test('holds are kept from the charge until the response ends', async (t) => {
  const gates: (() => void)[] = []
  const { ask, app } = await plainApp(t, {
    allowance: {
      holds: [
        { name: 'slots', per: 'caller', count: 2, retryDelaySeconds: 5 },
        { name: 'all', per: 'everyone', count: 3, retryDelaySeconds: 9 },
      ],
    },
    routes: (app) =>
      app
        .get('/held', { config: { allowance: { holds: ['slots', 'all'] } } }, async () => {
          await new Promise<void>((resolve) => gates.push(resolve))
          return 'ok'
        })
        .get('/quick', { config: { allowance: { holds: ['slots', 'all'] } } }, ok),
  })
  const as = (name: string) => ({ headers: { 'x-caller': name } })
  const open = [ask('/held'), ask('/held')]
  await Promise.all(
    open.map(async (_, i) => {
      while (gates.length <= i) await new Promise(setImmediate)
    }),
  )
  const refused = await ask('/quick')
  t.equal(refused.statusCode, 429)
  t.match(refused.headers, {
    'retry-after': '5',
    ratelimit: '"slots";r=0;t=5',
    'ratelimit-policy': '"caller";q=1000;w=60, "slots";q=2;qu="concurrent-requests"',
  })
  t.match(refused.json(), { 'violated-policies': ['slots'], detail: 'Quota exceeded: slots. Retry in 5 s.' })
  t.equal((await ask('/quick', as('b'))).statusCode, 200, 'another caller')
  open.push(ask('/held', as('b')))
  while (gates.length < 3) await new Promise(setImmediate)
  t.match(await ask('/quick', as('c')), { statusCode: 429, headers: { 'retry-after': '9' } }, 'all of them')
  for (const go of gates) go()
  for (const { statusCode } of await Promise.all(open)) t.equal(statusCode, 200)
  for (let i = 0; i < 5; i++) t.equal((await ask('/quick')).statusCode, 200, 'given back')
  await app.close()
})

t.test('what a charge has spent stays spent when a hold is refused', async (t) => {
  const { statuses, left, limiter } = await plainApp(t, {
    limits: { request: '10/60' },
    allowance: { holds: [{ name: 'slots', per: 'caller', count: 1, retryDelaySeconds: 5 }] },
    routes: (app) => app.get('/', { config: { allowance: { holds: ['slots'] } } }, ok),
  })
  limiter.hold({ type: 'api_key', name: 'a' }, 'slots')
  t.equal(await statuses(2, '/'), '429 429')
  t.same(left(), [8])
})

t.test('1000 requests at once never pass more than the limit', async (t) => {
  const { ask } = await plainApp(t, {
    limits: { request: '' },
    allowance: { identify: async () => undefined },
    routes: (app) => app.get('/', { config: { allowance: { bounds: [bound('mine', 'caller', '100/60')] } } }, ok),
  })
  const answers = await Promise.all(Array.from({ length: 1000 }, () => ask('/')))
  t.equal(answers.filter(({ statusCode }) => statusCode === 200).length, 100)
})

t.test('an app does not start with bounds or holds that are null', async (t) => {
  for (const key of ['bounds', 'holds'])
    await t.rejects(plainApp(t, { allowance: { [key]: null } as never, routes: () => {} }), {
      message: new RegExp(`${key}: must be a list of ${key}, got null`),
    })
})

t.test(
  'a spend of a handler that exceeds several bounds names the caller, then the plugin’s, then the route’s',
  async (t) => {
    for (const [limits, plugin, first] of [
      ['1/60', '1/90', 'caller'],
      ['9/60', '1/90', 'of-the-plugin'],
      ['9/60', '9/90', 'of-the-route'],
    ] as const) {
      const denials: Denial[] = []
      const { statuses } = await plainApp(t, {
        limits: { request: '', work: limits },
        allowance: {
          bounds: [{ ...bound('of-the-plugin', 'everyone', plugin), category: 'work' }],
          onDenied: (denial) => void denials.push(denial),
        },
        routes: (app) =>
          app.get(
            '/',
            { config: { allowance: { bounds: [{ ...bound('of-the-route', 'caller', '1/120'), category: 'work' }] } } },
            async (request) => request.spend('work', 1),
          ),
      })
      t.equal(await statuses(2, '/'), '200 429')
      t.equal(denials[0]?.bound, first)
    }
  },
)
