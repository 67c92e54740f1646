import t from 'tap'
import { many, paul, petra, start, statuses, tom } from './harness.ts'

const routes = `
[[routes]]
name = "shop"
prefix = "/shop"
upstream = "UPSTREAM"
openapi = "shop.yaml"
rules = [{ per = "address", count = 50, window = "PT1M" }]
[[routes.operations]]
operation = "placeOrder"
rules = [{ per = "user", count = 2, window = "PT1M" }]
[[routes.operations]]
operation = "readOrder"
rules = [{ per = "route", count = 3, window = "PT1M" }]
[[routes]]
name = "other"
prefix = "/other"
upstream = "UPSTREAM"
`

t.test('an operation carries bounds of its own, on top of those of its route', async (t) => {
  const { send, seconds } = await start(t, { routes })
  const place = (headers: Record<string, string>) => send('/shop/orders', { method: 'POST', headers })
  t.same(await statuses(3, () => place(petra)), [200, 200, 429])
  t.same(await statuses(3, () => place(paul)), [200, 200, 429])
  t.match((await place(paul)).headers, { 'ratelimit-limit': '2' })
  t.same(
    await statuses(5, () => send('/shop/orders', { headers: petra })),
    many(5, 200),
    'another operation is not bounded by it',
  )
  t.same(await statuses(2, () => place(tom)), [200, 200])
  // 11 have passed.
  t.same(await statuses(40, () => send('/shop/anything')), [...many(39, 200), 429])
  t.match((await place({})).headers, { 'ratelimit-limit': '50' }, 'the bound of the route')
  seconds(120)
  t.equal((await place(petra)).status, 200)
})

t.test('an operation is found by method and path, however it is written', async (t) => {
  const { send } = await start(t, { routes })
  const same = ['/shop/orders/1', '/shop/orders/%32?x=1', '/%73hop/ord%65rs/3/', '/shop/orders/a%20b']
  t.same(await statuses(same.length, (i) => send(same[i]!)), [200, 200, 200, 429])
  t.equal((await send('/shop/orders/4', { method: 'HEAD' })).status, 429, 'HEAD is GET')
  t.equal((await send(`/shop/orders/${'x'.repeat(4000)}`)).status, 429)
  for (const path of [
    '/shop/orders/search',
    '/shop/orders',
    '/shop/orders/1/invoice',
    '/shop/orders/1/2',
    '/other/orders/1',
  ]) {
    t.equal((await send(path)).status, 200, path)
  }
  t.equal((await send('/shop/orders/1', { method: 'DELETE' })).status, 200)
})

t.test('an operation without rules costs no session and no counter', async (t) => {
  const { send, lookUps } = await start(t, { routes })
  await send('/shop/orders', { headers: petra })
  t.equal(lookUps(), 0)
  await send('/shop/orders', { method: 'POST', headers: petra })
  t.equal(lookUps(), 1)
})

t.test('saving the route resets the counters of its operations', async (t) => {
  const { send, save, upstream } = await start(t, { routes })
  t.same(await statuses(4, () => send('/shop/orders/1')), [...many(3, 200), 429])
  const operations = [{ operation: 'GET /orders/{id}', rules: [{ per: 'route', count: 1, window: 'PT1M' }] }]
  const saved = await save('shop', { prefix: '/shop', upstream: upstream.url, openapi: 'shop.yaml', operations })
  t.equal(saved.status, 200)
  t.same(await statuses(2, () => send('/shop/orders/1')), [200, 429])
  t.same(await statuses(5, () => send('/shop/orders', { method: 'POST', headers: petra })), many(5, 200))
})

t.test(
  'rules of an operation that is bounded only for some are warned of, unless the route bounds everybody',
  async (t) => {
    const own = `operations = [{ operation = "readOrder", rules = [{ per = "user", only = { roles = ["trial"] }, count = 1, window = "PT1M" }] }]`
    const route = (name: string, rules: string) =>
      `[[routes]]\nname = "${name}"\nprefix = "/${name}"\nupstream = "UPSTREAM"\nopenapi = "shop.yaml"\nrules = [${rules}]\n${own}\n`
    const { table } = await start(t, {
      routes: route('a', '') + route('b', '{ per = "route", count = 1, window = "PT1M" }'),
    })
    t.same(table.get('a')!.warnings, ['GET /orders/{id}: no bound applies to everybody'])
    t.same(table.get('b')!.warnings, [])
  },
)
