import t from 'tap'
import { lines, start, TOKEN } from './harness.ts'

const ROUTES = [
  'verify-api-token',
  'write-events',
  'register-event-schema',
  'read-events',
  'observe-events',
  'run-eventql-query',
  'read-subjects',
  'read-event-types',
  'read-event-type',
  'backup',
  'restore',
  'export-events',
  'import-events',
  'verify-store',
  'audit-history',
]

t.test('all but ping, health, the definitions and the catalog need the token', async (t) => {
  const { call } = await start(t, { developmentMode: true })
  for (const api of ['/api/v1', '/api/v2']) {
    for (const route of ROUTES) {
      for (const token of [null, 'x', `${TOKEN}x`, TOKEN.slice(1), TOKEN.toUpperCase()]) {
        const answer = await call(`${api}/${route}`, { token })
        t.equal(answer.status, 401, `${api}/${route}`)
        t.equal(answer.headers['www-authenticate'], 'Bearer')
      }
    }
    for (const open of ['ping', 'health', 'openapi.json']) {
      t.equal((await call(`${api}/${open}`, { token: null })).status, 200)
    }
    t.equal((await call(`${api}/diagnostics`, { token: null })).status, 401)
  }
  for (const path of ['/debug/profiles/heap', '/debug/profiles/cpu']) {
    t.equal((await call(path, { token: null })).status, 401)
  }
})

t.test('how the token may be sent', async (t) => {
  const { call } = await start(t)
  const status = async (authorization: string) =>
    (await call('/api/v1/verify-api-token', { token: null, headers: { authorization } })).status
  t.equal(await status(`Bearer ${TOKEN}`), 200)
  t.equal(await status(`bearer  ${TOKEN}`), 200)
  for (const wrong of [
    TOKEN,
    `Basic ${TOKEN}`,
    `Bearer${TOKEN}`,
    `Bearer ${TOKEN} x`,
    `Bearer ${TOKEN}, Bearer ${TOKEN}`,
    'Bearer',
    'Bearer ',
  ]) {
    t.equal(await status(wrong), 401, wrong)
  }
})

t.test('the definitions name every route, and the catalog the definitions', async (t) => {
  const { call } = await start(t)
  const catalog = await call('/.well-known/api-catalog', { token: null })
  t.match(catalog.headers['content-type'], /^application\/linkset\+json/)
  const { linkset } = JSON.parse(catalog.body)
  t.same(
    linkset.map(({ anchor }: { anchor: string }) => anchor),
    ['/api/v1', '/api/v2'],
  )
  for (const {
    anchor,
    'service-desc': [{ href }],
  } of linkset) {
    const { paths, openapi } = JSON.parse((await call(href)).body)
    t.equal(openapi, '3.1.0')
    t.same(
      Object.keys(paths).sort(),
      [...ROUTES, 'ping', 'health', 'diagnostics'].map((route) => `${anchor}/${route}`).sort(),
    )
    t.same(paths[`${anchor}/ping`].get.security, [])
  }
  t.equal((await call('/.well-known/openapi')).body, (await call('/api/v1/openapi.json')).body)
})

t.test('profiles are there in development mode only', async (t) => {
  t.equal((await (await start(t)).call('/debug/profiles/heap')).status, 404)
  const { call } = await start(t, { developmentMode: true })
  t.match(JSON.parse((await call('/debug/profiles/heap')).body), { used_heap_size: Number })
  for (const seconds of ['0', '11', 'x', '1.5', '']) {
    t.equal((await call(`/debug/profiles/cpu?seconds=${seconds}`)).status, 400, seconds)
  }
  t.equal((await call('/debug/profiles/cpu?seconds=1&seconds=2')).status, 400)
  const [one, two] = await Promise.all([call('/debug/profiles/cpu?seconds=1'), call('/debug/profiles/cpu')])
  t.same([one.status, two.status].sort(), [200, 409])
  t.match(JSON.parse(one.status === 200 ? one.body : two.body), { nodes: Array })
})

t.test('in v2, commands are answered as streams', async (t) => {
  const { call } = await start(t)
  const body = { events: [{ source: 'urn:x', subject: '/a', type: 'com.example.a', data: {} }] }
  const answer = await call('/api/v2/write-events', { body })
  t.equal(answer.headers['content-type'], 'application/x-ndjson')
  t.match(lines(answer.body), [{ type: 'event' }])
  const v1 = await call('/api/v1/write-events', { body })
  t.match(v1.headers['content-type'], /^application\/json/)
})
