import t from 'tap'
import { many, paul, petra, petra2, petraInBrowser, route, start, statuses, tom } from './harness.ts'

t.test('case 7: 100/PT1M: 100 at the end of one minute and 100 at the start of the next do not all pass', async (t) => {
  const { send, seconds, upstream } = await start(t, {
    routes: route('{ per = "route", count = 100, window = "PT1M" }'),
  })
  seconds(59)
  t.same(await statuses(100, () => send('/x')), many(100, 200))
  seconds(2)
  const found = await statuses(100, () => send('/x'))
  t.ok(found.filter((status) => status === 200).length <= 2, 'a second has slid by')
  t.ok(found.includes(429))
  t.ok(upstream.reached.length <= 102)
})

t.test('a refusal carries its fields, and when they say, the next request passes', async (t) => {
  const { send, seconds } = await start(t, { routes: route('{ per = "address", count = 3, window = "PT1M" }') })
  t.same(await statuses(3, () => send('/x')), many(3, 200))
  const { status, headers, body } = await send('/x')
  t.equal(status, 429)
  t.match(headers, {
    'ratelimit-limit': '3',
    'ratelimit-remaining': '0',
    'ratelimit-reset': /^[1-9]\d*$/,
    'retry-after': /^[1-9]\d*$/,
    'content-type': /^application\/problem\+json/,
  })
  t.equal(headers['ratelimit-reset'], headers['retry-after'])
  t.equal(JSON.parse(body).status, 429)
  t.notMatch(body, '127.0.0.1')
  seconds(Number(headers['retry-after']))
  t.equal((await send('/x')).status, 200)
})

t.test('Retry-After may be longer than the window, and is never longer than two', async (t) => {
  const { send, seconds } = await start(t, { routes: route('{ per = "route", count = 3, window = "PT1M" }') })
  t.same(await statuses(3, () => send('/x')), many(3, 200))
  const delay = Number((await send('/x')).headers['retry-after'])
  t.ok(delay > 60 && delay <= 120, String(delay))
  seconds(delay - 1)
  t.equal((await send('/x')).status, 429)
  seconds(1)
  t.equal((await send('/x')).status, 200)
})

t.test('Retry-After is never zero, however soon it is over', async (t) => {
  const { send, seconds } = await start(t, { routes: route('{ per = "route", count = 1, window = "PT1S" }') })
  await send('/x')
  for (let i = 0; i < 40; i += 1) {
    seconds(0.05)
    const { status, headers } = await send('/x')
    if (status === 429) t.ok(Number(headers['retry-after']) >= 1, headers['retry-after'] ?? 'none')
  }
})

t.test('an answer that is no refusal carries what the upstream says, and nothing of ours', async (t) => {
  const { send } = await start(t, {
    routes: route('{ per = "route", count = 10, window = "PT1M" }'),
    answer: (_request, response) => response.writeHead(200, { 'ratelimit-limit': '7' }).end(),
  })
  const { headers } = await send('/x')
  t.equal(headers['ratelimit-limit'], '7')
  t.equal(headers['ratelimit-remaining'], undefined)
})

t.test('a refused request is not counted', async (t) => {
  const rules = '{ per = "route", count = 10, window = "PT10S" }'
  const [patient, hammering] = await Promise.all([
    start(t, { routes: route(rules) }),
    start(t, { routes: route(rules) }),
  ])
  for (const { send } of [patient, hammering]) t.same(await statuses(10, () => send('/x')), many(10, 200))
  const before = (await patient.send('/x')).headers['retry-after']
  t.same(await statuses(200, () => hammering.send('/x')), many(200, 429))
  t.equal((await hammering.send('/x')).headers['retry-after'], before)
  for (const { seconds, send } of [patient, hammering]) {
    seconds(Number(before))
    t.equal((await send('/x')).status, 200)
  }
})

t.test('several apply at once: the first exceeded refuses, is named, and none of the others is charged', async (t) => {
  const { send, seconds } = await start(t, {
    routes: route(`
      { per = "route", count = 5, window = "PT10S" },
      { per = "user", count = 2, window = "PT1M" },
      { per = "organisation", count = 3, window = "PT1M" },
    `),
  })
  const boundOf = async (headers: Record<string, string>) => {
    const { status, body, headers: fields } = await send('/x', { headers })
    return status === 200 ? 'passes' : `${fields['ratelimit-limit']} ${/x\.\d-per-[a-z]+/.exec(body)?.[0]}`
  }
  t.equal(await boundOf(petra), 'passes')
  t.equal(await boundOf(petra), 'passes')
  t.equal(await boundOf(petra), '2 x.2-per-user')
  t.equal(await boundOf(paul), 'passes')
  t.equal(await boundOf(paul), '3 x.3-per-organisation')
  t.equal(await boundOf(tom), 'passes')
  t.equal(await boundOf(tom), 'passes', 'of five on the route only those that passed are counted')
  t.equal((await boundOf(tom)).slice(2), 'x.1-per-route', 'the first in the order of the rules')
  seconds(20)
  t.equal(await boundOf(tom), '2 x.2-per-user')
})

const KEYED: [per: string, alike: Record<string, string>[], apart: Record<string, string>[]][] = [
  ['user', [petra, petra2, petraInBrowser], [paul, tom, {}]],
  ['token', [petra, petra], [petra2, petraInBrowser, paul, tom, {}]],
  ['organisation', [petra, paul, petraInBrowser], [tom, {}]],
  ['route', [petra, paul, tom, {}], []],
  [
    'address',
    [petra, paul, tom, {}],
    ['203.0.113.9', '2001:db8::1', '2001:db8::2'].map((address) => ({ 'x-forwarded-for': address })),
  ],
]

for (const [per, alike, apart] of KEYED) {
  t.test(`per ${per}: one budget for each`, async (t) => {
    const { send } = await start(t, {
      head: 'trusted_proxies = ["127.0.0.1"]',
      routes: route(`{ per = "${per}", count = 1, window = "PT1M" }`),
    })
    const found = await statuses(alike.length, (i) => send('/x', { headers: alike[i]! }))
    t.same(found, [200, ...many(alike.length - 1, 429)])
    t.same(await statuses(apart.length, (i) => send('/x', { headers: apart[i]! })), many(apart.length, 200))
    t.same(await statuses(apart.length, (i) => send('/x', { headers: apart[i]! })), many(apart.length, 429))
  })
}

t.test('two roles are two pricing tiers, and who has neither is bounded by neither', async (t) => {
  const { send, logged } = await start(t, {
    routes: route(`
      { per = "user", only = { roles = ["partner"] }, count = 4, window = "PT1M" },
      { per = "user", only = { roles = ["trial"] }, count = 2, window = "PT1M" },
    `),
  })
  t.same(await statuses(5, () => send('/x', { headers: petra })), [...many(4, 200), 429])
  t.same(await statuses(5, () => send('/x', { headers: paul })), [...many(4, 200), 429])
  t.same(await statuses(3, () => send('/x', { headers: tom })), [...many(2, 200), 429])
  t.same(await statuses(20, () => send('/x')), many(20, 200))
  t.match(logged.join(''), 'no bound applies to everybody')
})

t.test('a rule for some beside one for everybody is nothing to warn of', async (t) => {
  const { table, logged } = await start(t, {
    routes: route(`
      { per = "user", only = { roles = ["trial"] }, count = 2, window = "PT1M" },
      { per = "address", count = 4, window = "PT1M" },
    `),
  })
  t.same(table.get('x')!.warnings, [])
  t.notMatch(logged.join(''), 'no bound applies to everybody')
})

t.test('an empty Access is everybody', async (t) => {
  const { send, lookUps, table } = await start(t, {
    routes: route(
      `{ per = "route", only = {}, count = 3, window = "PT1M" }, { per = "address", only = { roles = [] }, count = 2, window = "PT1M" }`,
    ),
  })
  t.same(await statuses(3, (i) => send('/x', { headers: [petra, tom, {}][i]! })), [200, 200, 429])
  t.equal(lookUps(), 0, 'and no narrowing')
  t.same(table.get('x')!.warnings, [])
})

t.test('what looks like a preflight is forwarded and counted as any other request', async (t) => {
  const headers = { origin: 'https://app.example', 'access-control-request-method': 'POST' }
  for (const per of ['route', 'address']) {
    const { send, upstream } = await start(t, { routes: route(`{ per = "${per}", count = 1, window = "PT1H" }`) })
    const preflight = () => send('/x', { method: 'OPTIONS', headers, body: 'z'.repeat(1000) })
    t.same(await statuses(300, preflight), [200, ...many(299, 429)])
    t.equal((await send('/x')).status, 429)
    t.match(upstream.reached, [{ method: 'OPTIONS' }])
    t.equal(upstream.reached.length, 1)
  }
})

t.test('each node counts for itself', async (t) => {
  const routes = route('{ per = "route", count = 2, window = "PT1M" }')
  const nodes = await Promise.all([start(t, { routes, head: 'nodes = 2' }), start(t, { routes, head: 'nodes = 2' })])
  for (const { send } of nodes) t.same(await statuses(3, () => send('/x')), [200, 200, 429])
})

t.test('1000 parallel requests never pass more than the limit', async (t) => {
  const { send, upstream, lookUps } = await start(t, {
    routes: route('{ per = "route", count = 300, window = "PT1M" }, { per = "user", count = 70, window = "PT1M" }'),
  })
  const found = await Promise.all(Array.from({ length: 1000 }, (_, i) => send('/x', { headers: i % 2 ? petra : tom })))
  t.equal(found.filter(({ status }) => status === 200).length, 140)
  t.equal(found.filter(({ status }) => status === 429).length, 860)
  t.equal(upstream.reached.length, 140)
  t.ok(lookUps() <= 1000)
  t.equal((await send('/x')).status, 200, 'what was refused by user is given back to the route')
})
