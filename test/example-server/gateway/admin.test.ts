import t from 'tap'
import { parseConfig } from '../../../example-server/gateway/config.ts'
import { createGatewayServer } from '../../../example-server/gateway/server.ts'
import { manualClock } from '../../../src/index.ts'
import { ADMIN, client, many, petra, start, startUpstream, statuses, type Teardown } from './harness.ts'

const two = (name: string, rules: string) => `
[[routes]]
name = "${name}"
prefix = "/${name}"
upstream = "UPSTREAM"
rules = [${rules}]
`
const perRoute = (count: number) => `{ per = "route", count = ${count}, window = "PT1M" }`

t.test('saving a route resets its counters and only its', async (t) => {
  const { send, save, upstream, seconds } = await start(t, { routes: two('a', perRoute(2)) + two('b', perRoute(2)) })
  for (const path of ['/a', '/b']) t.same(await statuses(3, () => send(path)), [200, 200, 429])
  const rules = [{ per: 'route', count: 4, window: 'PT1M' }]
  const { status, body } = await save('a', { prefix: '/a', upstream: upstream.url, rules })
  t.equal(status, 200)
  t.match(JSON.parse(body), { name: 'a', prefix: '/a', rules, warnings: [], saved: /in memory/ })
  t.same(await statuses(5, () => send('/a')), [...many(4, 200), 429], 'nothing of the old bound is inherited')
  t.equal((await send('/b')).status, 429)
  seconds(120)
  await save('a', { prefix: '/a', upstream: upstream.url, rules })
  t.same(await statuses(5, () => send('/a')), [...many(4, 200), 429], 'the same again resets, too')
})

t.test('a route moves, comes and goes', async (t) => {
  const { send, save, upstream } = await start(t, { routes: two('a', perRoute(2)) })
  t.equal((await save('a', { prefix: '/moved', upstream: `${upstream.url}/v2` })).status, 200)
  t.equal((await send('/a')).status, 404)
  t.equal((await send('/moved/1')).status, 200)
  t.equal(upstream.reached.at(-1)!.url, '/v2/1')
  t.equal((await save('new', { name: 'new', prefix: '/', upstream: upstream.url })).status, 201)
  t.equal((await send('/anything')).status, 200)
  const headers = { authorization: `Bearer ${ADMIN}` }
  t.match(JSON.parse((await send('/-/admin/routes', { headers })).body), { routes: [{ name: 'a' }, { name: 'new' }] })
  t.match(JSON.parse((await send('/-/admin/routes/new', { headers })).body), { name: 'new', prefix: '/' })
  t.equal((await send('/-/admin/routes/new', { method: 'DELETE', headers })).status, 204)
  t.equal((await send('/anything')).status, 404)
  for (const method of ['GET', 'DELETE']) {
    t.equal((await send('/-/admin/routes/new', { method, headers })).status, 404)
  }
})

t.test('what a route says can be saved as it is', async (t) => {
  const { send, save } = await start(t, {
    routes: two('a', '{ per = "user", only = { roles = ["partner"] }, count = 2, window = "PT1H" }'),
  })
  const { warnings, ...written } = JSON.parse(
    (await send('/-/admin/routes/a', { headers: { authorization: `Bearer ${ADMIN}` } })).body,
  )
  t.same(warnings, ['no bound applies to everybody'])
  const { status, body } = await save('a', written)
  t.equal(status, 200)
  t.match(JSON.parse(body), written)
})

t.test('saving is checked as the file is, and what is wrong changes nothing', async (t) => {
  const { send, save, upstream } = await start(t, { routes: two('a', perRoute(2)) + two('b', perRoute(2)) })
  t.same(await statuses(3, () => send('/a')), [200, 200, 429])
  const good = { prefix: '/a', upstream: upstream.url }
  const rule = { per: 'route', count: 1, window: 'PT1M' }
  const rows: [body: unknown, ...problems: RegExp[]][] = [
    [[], /^route: must be a table, got a list of 0$/],
    [null, /^route: must be a table, got null$/],
    [{}, /^prefix: must be a path .*, got nothing$/, /^upstream: must be a URL of http or https .*, got nothing$/],
    [{ ...good, name: 'b' }, /^name: must be the one in the path, or left out$/],
    [{ ...good, prefix: '/b' }, /^prefix: must be its own, got the one of the route b$/],
    [{ ...good, prefix: '/-/admin' }, /^prefix: /],
    [{ ...good, upstream: 'http://user:secret@host/' }, /^upstream: .*, got one with more$/],
    [{ ...good, upstream: 'demo' }, /^upstream: /],
    [
      { ...good, openapi: '../package.json' },
      /^openapi: must be the name of a file in the folder of the configuration/,
    ],
    [{ ...good, openapi: '/etc/passwd' }, /^openapi: must be the name of a file/],
    [
      { ...good, openapi: 'gateway.toml' },
      /^openapi: must be an OpenAPI 3 file, in JSON or YAML, got "gateway\.toml" \(no YAML in line \d+, column \d+\)$/,
    ],
    [
      { ...good, rules: [{ ...rule, window: 'PT0.5S' }] },
      /^rules\[0\]\.window: must be an ISO 8601 duration from PT1S to P1D, in whole seconds, got "PT0\.5S"$/,
    ],
    [
      { ...good, rules: [{ ...rule, window: 'P2D' }, 5] },
      /^rules\[1\]: must be a table, got 5$/,
      /^rules\[0\]\.window: .*, got "P2D"$/,
    ],
    [{ ...good, constructor: 1 }, /^constructor: unknown key; allowed: name, prefix, /],
  ]
  for (const [body, ...problems] of rows) {
    const answer = await save('a', body)
    t.equal(answer.status, 422, JSON.stringify(body))
    const found = JSON.parse(answer.body).problems as string[]
    t.equal(found.length, problems.length, found.join('; '))
    for (const [i, pattern] of problems.entries()) t.match(found[i], pattern)
  }
  t.equal((await save('Not%20A%20Name', good)).status, 422)
  t.equal((await save('x'.repeat(90), good)).status, 422)
  t.equal((await send('/a')).status, 429)
})

t.test('only with the admin token', async (t) => {
  const { send, upstream, logged } = await start(t, { routes: two('a', perRoute(2)) })
  const body = JSON.stringify({ prefix: '/a', upstream: upstream.url })
  for (const authorization of [
    '',
    'Bearer',
    'Bearer no-such-token-0000',
    `Basic ${btoa(`admin:${ADMIN}`)}`,
    `Bearer ${ADMIN} x`,
  ]) {
    for (const method of ['PUT', 'DELETE', 'GET']) {
      const headers = { authorization, 'content-type': 'application/json' }
      const { status, headers: fields } = await send('/-/admin/routes/a', {
        method,
        headers,
        ...(method === 'PUT' && { body }),
      })
      t.equal(status, 401, `${method} ${authorization}`)
      t.match(fields['www-authenticate'], /^Bearer/)
    }
  }
  t.equal((await send('/-/admin/routes', { headers: petra })).status, 401)
  t.notMatch(logged.join(''), ADMIN)
})

t.test('without an admin token in the configuration nobody may', async (t) => {
  const { app } = await createGatewayServer({ config: parseConfig('', 'none.toml'), log: false })
  t.teardown(() => app.close())
  for (const authorization of ['Bearer undefined', 'Bearer admin', 'Basic YWRtaW46']) {
    t.equal((await app.inject({ url: '/-/admin/routes', headers: { authorization } })).statusCode, 401)
    t.equal((await app.inject({ url: '/-/console', headers: { authorization } })).statusCode, 401)
  }
})

t.test('counters that there is no memory for: 507, and the old ones stay', async (t) => {
  const { send, save, upstream } = await start(t, { head: 'max_memory_mib = 2', routes: two('a', perRoute(2)) })
  t.same(await statuses(3, () => send('/a')), [200, 200, 429])
  const rules = Array.from({ length: 16 }, () => ({ per: 'address', count: 1, window: 'PT1M' }))
  const { status, body } = await save('a', { prefix: '/a', upstream: upstream.url, rules })
  t.equal(status, 507)
  t.match(JSON.parse(body).detail, /max_memory_mib/)
  t.equal((await send('/a')).status, 429)
})

t.test('routes are saved as often as one likes', async (t) => {
  const { send, save, upstream } = await start(t, { head: 'max_memory_mib = 8', routes: two('a', perRoute(2)) })
  const rules = [{ per: 'address', count: 2, window: 'PT1M' }]
  for (let i = 0; i < 60; i += 1) {
    t.equal((await save('a', { prefix: '/a', upstream: upstream.url, rules })).status, 200)
    t.same(await statuses(3, () => send('/a')), [200, 200, 429])
  }
})

t.test('routes come and go as often as one likes', async (t) => {
  const { send, save, upstream } = await start(t, { head: 'max_memory_mib = 8', routes: '' })
  const rules = [{ per: 'address', count: 2, window: 'PT1M' }]
  for (let i = 0; i < 60; i += 1) {
    t.equal((await save('a', { prefix: '/a', upstream: upstream.url, rules })).status, 201)
    const headers = { authorization: `Bearer ${ADMIN}` }
    t.equal((await send('/-/admin/routes/a', { method: 'DELETE', headers })).status, 204)
  }
})

/** A gateway with a route `a`, whose requests wait for their session until `open`. */
async function waiting(t: Teardown) {
  const upstream = await startUpstream(t)
  const rules = `${perRoute(5)}, { per = "user", count = 5, window = "PT1M" }`
  const config = parseConfig(two('a', rules).replaceAll('UPSTREAM', upstream.url), 'a.toml')
  const gate = Promise.withResolvers<void>()
  let asked = 0
  const lookUp = async () => {
    asked += 1
    await gate.promise
    return { user: 'petra', roles: [] }
  }
  const { app, table } = await createGatewayServer({ config, log: false, lookUp, clock: manualClock(0n) })
  await app.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(() => app.close())
  const send = client(t, (app.server.address() as { port: number }).port)
  const get = async () => (await send('/a', { headers: petra })).status
  const untilAsked = async (count: number) => {
    while (asked < count) await new Promise((resolve) => setTimeout(resolve, 5))
  }
  return { table, get, untilAsked, open: () => gate.resolve() }
}

t.test('a route that is saved while requests wait for their session: they are counted anew', async (t) => {
  const { table, get, untilAsked, open } = await waiting(t)
  const running = [get(), get(), get(), get()]
  await untilAsked(4)
  table.save(table.get('a')!)
  open()
  t.same(await Promise.all(running), many(4, 200))
  t.same([await get(), await get()], [200, 429])
})

t.test('a route that is removed meanwhile: they go where they were to go', async (t) => {
  const { table, get, untilAsked, open } = await waiting(t)
  const running = [get(), get()]
  await untilAsked(2)
  table.remove('a')
  open()
  t.same(await Promise.all(running), [200, 200])
  t.equal(await get(), 404)
})
