import t from 'tap'
import { second } from '../support/limiter-of.ts'
import { plainApp } from '../support/plain-app.ts'

t.test('case 1: 60/60 and 100/3600 on a plain route: refused by the hour, the fields say so', async (t) => {
  const { ask, statuses, clock } = await plainApp(t, {
    limits: { request: '60/60, 100/3600' },
    routes: (app) => app.get('/', { config: { allowance: {} } }, async () => 'ok'),
  })
  t.equal(await statuses(60, '/'), Array(60).fill(200).join(' '))
  clock.advance(60n * second)
  t.equal(await statuses(41, '/'), Array(41).fill(200).join(' '))
  const { statusCode, headers } = await ask('/')
  t.equal(statusCode, 429)
  t.match(headers, {
    'retry-after': '12',
    'ratelimit-policy': '"caller-60";q=60;w=60, "caller-3600";q=100;w=3600',
    ratelimit: '"caller-3600";r=0;t=12',
  })
})

t.test('case 2: Retry-After is rounded up, and enough', async (t) => {
  const five = await plainApp(t, {
    limits: { request: '5/1' },
    routes: (app) => app.get('/', { config: { allowance: {} } }, async () => 'ok'),
  })
  t.equal(await five.statuses(5, '/'), '200 200 200 200 200')
  t.match(await five.ask('/'), { statusCode: 429, headers: { 'retry-after': '1' } })

  const one = await plainApp(t, {
    limits: { request: '1/2' },
    routes: (app) => app.get('/', { config: { allowance: {} } }, async () => 'ok'),
  })
  t.equal(await one.statuses(1, '/'), '200')
  t.match(await one.ask('/'), { statusCode: 429, headers: { 'retry-after': '2' } }, 'exactly 2, not 3')
  const longer = await plainApp(t, {
    limits: { request: '1000/2001' },
    routes: (app) => app.get('/', { config: { allowance: { charges: 1000 } } }, async () => 'ok'),
  })
  t.equal(await longer.statuses(1, '/'), '200')
  longer.clock.advance(1_998_999n * 1_000_000n)
  t.match(await longer.ask('/'), { statusCode: 429, headers: { 'retry-after': '3' } }, '2001 ms are 3 s')
  longer.clock.advance(2n * second)
  t.equal(await longer.statuses(1, '/'), '429')
  longer.clock.advance(second)
  t.equal(await longer.statuses(1, '/'), '200')
})

t.test('charges: a number, units by category, or a function of the request', async (t) => {
  const { ask, left, app } = await plainApp(t, {
    limits: { request: '100/60', work: '100/60' },
    routes: (app) => {
      const allow = (charges: unknown) => ({ config: { allowance: { charges } as never } })
      app.get('/default', { config: { allowance: {} } }, async () => 'ok')
      app.get('/number', allow(7), async () => 'ok')
      app.get('/nothing', allow(0), async () => 'ok')
      app.get('/categories', allow({ work: 5, request: 2 }), async () => 'ok')
      app.get('/only-work', allow({ work: 5 }), async () => 'ok')
      app.get(
        '/units/:n',
        allow((request: { params: { n: string } }) => Number(request.params.n)),
        async () => 'ok',
      )
      app.get(
        '/by-query',
        allow((request: { query: object }) => request.query),
        async () => 'ok',
      )
      app.get(
        '/weighed',
        allow((request: { query: { n: string } }) => ({ work: Number(request.query.n) })),
        () => 'ok',
      )
      app.route({
        url: '/methods',
        method: ['GET', 'POST', 'DELETE'],
        ...allow((request: { method: string }) => (request.method === 'GET' ? 1 : 10)),
        handler: async () => 'ok',
      })
      app.get('/uncharged', async () => 'ok')
    },
  })
  const cost = async (url: string, method: 'GET' | 'POST' | 'DELETE' | 'HEAD' = 'GET') => {
    const before = [left()[0]!, left('a', 'work')[0]!]
    const { statusCode } = await ask(url, { method })
    return [statusCode, before[0]! - left()[0]!, before[1]! - left('a', 'work')[0]!]
  }
  t.same(await cost('/default'), [200, 1, 0])
  t.same(await cost('/number'), [200, 7, 0])
  t.same(await cost('/nothing'), [200, 0, 0])
  t.same(await cost('/categories'), [200, 2, 5])
  t.same(await cost('/only-work'), [200, 0, 5])
  t.same(await cost('/units/3'), [200, 3, 0])
  t.same(await cost('/weighed?n=4'), [200, 0, 4])
  t.same(await cost('/methods'), [200, 1, 0])
  t.same(await cost('/methods', 'POST'), [200, 10, 0])
  t.same(await cost('/methods', 'DELETE'), [200, 10, 0])
  t.same(await cost('/uncharged'), [200, 0, 0])

  for (const url of ['/units/x', '/units/-1', '/units/1.5', '/units/1e99', '/by-query?work=5', '/by-query?x=1']) {
    t.same(await cost(url), [500, 0, 0], `${url}: what is no cost is a mistake of the app, and charges nothing`)
  }
  t.match(
    (await ask('/units/secret')).json().message,
    /^GET \/units\/:n: config\.allowance\.charges must return a whole/,
  )
  await app.close()
})

t.test('charges in several categories are charged all or none', async (t) => {
  const { statuses, left } = await plainApp(t, {
    limits: { request: '10/60', work: '3/60' },
    allowance: { bounds: [{ name: 'address', per: 'address', limits: [{ count: 10, windowSeconds: 60 }] }] },
    routes: (app) => app.get('/', { config: { allowance: { charges: { request: 1, work: 2 } } } }, async () => 'ok'),
  })
  t.equal(await statuses(3, '/'), '200 429 429')
  t.same([left(), left('a', 'work')], [[9, 9], [1]], 'refused for work, it keeps its request')
})

t.test('charges in step preHandler know the body, and are charged when it is valid', async (t) => {
  const asked: unknown[] = []
  const { ask, left } = await plainApp(t, {
    limits: { request: '10/60' },
    allowance: {
      identify: (request) => {
        asked.push(request.body)
        return { type: 'api_key', name: 'a' }
      },
    },
    routes: (app) =>
      app.post(
        '/',
        {
          schema: { body: { type: 'object', required: ['items'] } },
          config: {
            allowance: { step: 'preHandler', charges: (request) => (request.body as { items: [] }).items.length },
          },
        },
        async () => 'ok',
      ),
  })
  const post = (payload: string) =>
    ask('/', { method: 'POST', payload, headers: { 'content-type': 'application/json' } })
  t.equal((await post('{"items":[1,2,3]}')).statusCode, 200)
  t.same(left(), [7])
  t.equal((await post('{"items":')).statusCode, 400)
  t.equal((await post('{}')).statusCode, 400)
  t.same(left(), [7])
  t.match(await post('{"items":[1,2,3,4,5,6,7,8]}'), { statusCode: 429, headers: { 'retry-after': '6' } })
  t.same(asked, [{ items: [1, 2, 3] }, { items: [1, 2, 3, 4, 5, 6, 7, 8] }])
})

t.test('what is charged in onRequest is charged before the body is looked at', async (t) => {
  const { ask, left } = await plainApp(t, {
    limits: { request: '3/60' },
    routes: (app) => app.post('/', { config: { allowance: {} } }, async () => 'ok'),
  })
  const post = (payload: string, type: string) =>
    ask('/', { method: 'POST', payload, headers: { 'content-type': type } })
  t.equal((await post('{', 'application/json')).statusCode, 400)
  t.equal((await post('x', 'application/strange')).statusCode, 415)
  t.equal((await post('x', 'no type at all')).statusCode, 415)
  t.same(left(), [0])
  t.equal((await post('{', 'application/json')).statusCode, 429)
  t.equal((await post('x', 'no type at all')).statusCode, 429)
})

t.test('free costs nothing; what its handler spends has the bounds of the route and its own answer', async (t) => {
  const { ask, statuses, left } = await plainApp(t, {
    limits: { request: '2/60', work: '' },
    allowance: { routes: { charges: 1 } },
    routes: (app) => {
      app.get('/free', { config: { allowance: { free: true } } }, async () => 'ok')
      const bounds = [
        { name: 'few', per: 'everyone', category: 'work', limits: [{ count: 1, windowSeconds: 60 }] },
      ] as const
      const renderRejection = () => 'spent'
      app.get('/work', { config: { allowance: { free: true, bounds, renderRejection } } }, async (request) => {
        await request.spend('work', 1)
        return 'ok'
      })
    },
  })
  t.equal(await statuses(5, '/free'), '200 200 200 200 200')
  t.equal(await statuses(2, '/work'), '200 429')
  t.equal((await ask('/work')).body, 'spent')
  t.same(left(), [2])
})

t.test('a spend in a hook of the instance leaves the route its bounds', async (t) => {
  const { statuses } = await plainApp(t, {
    limits: { request: '', work: '100/60' },
    routes: (app) => {
      app.addHook('onRequest', async (request) => request.spend('work', 1))
      const bounds = [{ name: 'few', per: 'everyone', limits: [{ count: 1, windowSeconds: 60 }] }] as const
      app.get('/', { config: { allowance: { bounds } } }, async () => 'ok')
    },
  })
  t.equal(await statuses(2, '/'), '200 429')
})

t.test('of several charges the delay is the longest of all, with or without identity', async (t) => {
  for (const per of ['caller', 'address'] as const) {
    const bound = (category: string, windowSeconds: number) =>
      ({ name: category, per, category, limits: [{ count: 1, windowSeconds }] }) as const
    const { ask, clock } = await plainApp(t, {
      limits: { request: '1000/60', work: '1000/60' },
      allowance: { bounds: [bound('request', 10), bound('work', 600)] },
      routes: (app) => app.get('/', { config: { allowance: { charges: { request: 1, work: 1 } } } }, async () => 'ok'),
    })
    t.equal((await ask('/')).statusCode, 200)
    const refused = await ask('/')
    t.equal(refused.headers['retry-after'], '600', per)
    t.equal(refused.headers.ratelimit, '"work";r=0;t=600')
    t.same(refused.json()['violated-policies'], ['request', 'work'])
    clock.advance(600_000_000_000n)
    t.equal((await ask('/')).statusCode, 200)
  }
})

t.test('the option routes is for all plain routes; those of a route go over it, key by key', async (t) => {
  const bounds = [{ name: 'each', per: 'address', limits: [{ count: 1, windowSeconds: 60 }] }] as const
  const { ask, statuses, left } = await plainApp(t, {
    limits: { request: '100/60', work: '100/60' },
    allowance: { routes: { charges: { work: 2 }, renderRejection: () => 'of all' } },
    routes: (app) => {
      app.get('/silent', async () => 'ok')
      app.get('/charges', { config: { allowance: { charges: 3 } } }, async () => 'ok')
      app.get('/bounds', { config: { allowance: { bounds, charges: { request: 1, work: 1 } } } }, async () => 'ok')
      app.get('/own', { config: { allowance: { bounds, charges: 1, renderRejection: () => 'own' } } }, async () => 'ok')
      app.get('/free', { config: { allowance: { free: true } } }, async () => 'ok')
    },
  })
  const both = () => [left()[0], left('a', 'work')[0]]
  await ask('/silent')
  t.same(both(), [100, 98])
  await ask('/charges')
  t.same(both(), [97, 98])
  await ask('/free')
  t.same(both(), [97, 98])
  t.equal(await statuses(2, '/bounds'), '200 429')
  t.equal((await ask('/bounds')).body, 'of all')
  t.equal(await statuses(2, '/own'), '200 429')
  t.equal((await ask('/own')).body, 'own')
})
