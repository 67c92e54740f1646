import t from 'tap'
import { candidate, lineReader, lines, SECOND, start, textOf, until, write } from './harness.ts'

const READ = { subject: '/', options: { recursive: true } }

for (const version of ['v1', 'v2']) {
  t.test(`${version}: events are written and read, chained by their hashes`, async (t) => {
    const { call } = await start(t)
    const written = await call(`/api/${version}/write-events`, { body: { events: [candidate('/a'), candidate('/b')] } })
    t.equal(written.status, 200)
    const events = version === 'v1' ? JSON.parse(written.body) : lines(written.body).map(({ payload }) => payload)
    t.match(events, [
      { id: '0', subject: '/a', specversion: '1.0', predecessorhash: '0'.repeat(64) },
      { id: '1', subject: '/b', predecessorhash: events[0].hash },
    ])
    const read = await call(`/api/${version}/read-events`, { body: READ })
    t.equal(read.headers['content-type'], 'application/x-ndjson')
    t.same(
      lines(read.body),
      events.map((payload: unknown) => ({ type: 'event', payload })),
    )
  })
}

t.test('reading: subjects, order, bounds, and from the latest event of a type', async (t) => {
  const server = await start(t)
  await write(server, '/books', '/books/1', '/books/2', '/bookshelf', '/books/1')
  const read = async (subject: string, options: object) => {
    const { status, body } = await server.call('/api/v1/read-events', { body: { subject, options } })
    return status === 200 ? lines(body).map(({ payload }) => payload.id) : status
  }
  t.same(await read('/books', { recursive: false }), ['0'])
  t.same(await read('/books', { recursive: true }), ['0', '1', '2', '4'])
  t.same(await read('/', { recursive: true }), ['0', '1', '2', '3', '4'])
  t.same(await read('/', { recursive: false }), [])
  t.same(await read('/books', { recursive: true, order: 'antichronological' }), ['4', '2', '1', '0'])
  t.same(await read('/books/1', { recursive: false, order: 'antichronological' }), ['4', '1'])
  const bound = (id: string, type = 'inclusive') => ({ id, type })
  t.same(await read('/', { recursive: true, lowerBound: bound('1'), upperBound: bound('3') }), ['1', '2', '3'])
  t.same(
    await read('/', { recursive: true, lowerBound: bound('1', 'exclusive'), upperBound: bound('3', 'exclusive') }),
    ['2'],
  )
  t.same(await read('/', { recursive: true, lowerBound: bound('9') }), [])
  const latest = { subject: '/books/1', type: candidate().type, ifEventIsMissing: 'read-nothing' }
  t.same(await read('/', { recursive: true, fromLatestEvent: latest }), ['4'])
  t.same(await read('/', { recursive: true, fromLatestEvent: { ...latest, subject: '/none' } }), [])
  t.same(
    await read('/', {
      recursive: true,
      fromLatestEvent: { ...latest, subject: '/none', ifEventIsMissing: 'read-everything' },
    }),
    ['0', '1', '2', '3', '4'],
  )
  t.equal(await read('/', { recursive: true, lowerBound: bound('0'), fromLatestEvent: latest }), 400)
})

t.test('preconditions are looked at in the same transaction, and all or nothing is written', async (t) => {
  const server = await start(t)
  await write(server, '/a')
  const attempt = async (type: string, payload: object) => {
    const body = { events: [candidate('/a')], preconditions: [{ type, payload }] }
    return (await server.call('/api/v1/write-events', { body })).status
  }
  t.equal(await attempt('isSubjectPristine', { subject: '/a' }), 409)
  t.equal(await attempt('isSubjectPopulated', { subject: '/b' }), 409)
  t.equal(await attempt('isSubjectOnEventId', { subject: '/a', eventId: '7' }), 409)
  t.equal(server.store.eventCount(), 1)
  t.equal(await attempt('isSubjectPristine', { subject: '/b' }), 200)
  t.equal(await attempt('isSubjectPopulated', { subject: '/a' }), 200)
  t.equal(await attempt('isSubjectOnEventId', { subject: '/a', eventId: '2' }), 200)
  t.equal(await attempt('isEventQlQueryTrue', { query: '' }), 400)
})

t.test('a registered schema binds what is written from then on', async (t) => {
  const server = await start(t)
  const schema = {
    type: 'object',
    properties: { title: { type: 'string' } },
    required: ['title'],
    additionalProperties: false,
  }
  const eventType = candidate().type
  const register = (body: object, version = 'v1') => server.call(`/api/${version}/register-event-schema`, { body })
  await write(server, '/a')
  t.equal(
    (await register({ eventType, schema: { type: 'object', properties: { title: { type: 'null' } } } })).status,
    409,
  )
  t.match(lines((await register({ eventType, schema }, 'v2')).body), [{ type: 'eventSchemaRegistered' }])
  t.equal((await register({ eventType, schema })).status, 409, 'only once')
  const writing = async (data: Record<string, unknown>) =>
    (await server.call('/api/v1/write-events', { body: { events: [candidate('/a', data)] } })).status
  t.equal(await writing({ title: 5 }), 409)
  t.equal(await writing({ title: 'x', more: 1 }), 409)
  t.equal(await writing({}), 409)
  t.equal(await writing({ title: 'x' }), 200)
  t.match(lines((await server.call('/api/v1/read-event-types')).body), [
    { type: 'eventType', payload: { eventType, isPhantom: false, schema } },
  ])
  t.match(JSON.parse((await server.call('/api/v2/read-event-type', { body: { eventType } })).body), { schema })
  t.equal((await server.call('/api/v2/read-event-type', { body: { eventType: 'no.such.type' } })).status, 404)
  for (const bad of [
    { type: 'object', $ref: '#' },
    { type: 'array' },
    5,
    { type: 'object', properties: { a: { pattern: '(a+)+$' } } },
    { type: 'object', required: ['a'] },
    { type: 'object', properties: { a: { items: { type: 'string' } } } },
  ]) {
    t.equal((await register({ eventType: 'com.example.other', schema: bad })).status, 400, JSON.stringify(bad))
  }
})

t.test('subjects and types are listed', async (t) => {
  const server = await start(t)
  await write(server, '/b/1', '/a', '/b', '/b/1', '/ba')
  const subjects = async (baseSubject: string) =>
    lines((await server.call('/api/v1/read-subjects', { body: { baseSubject } })).body).map(
      ({ payload }) => payload.subject,
    )
  t.same(await subjects('/'), ['/a', '/b', '/b/1', '/ba'])
  t.same(await subjects('/b'), ['/b', '/b/1'])
  t.same(await subjects('/c'), [])
})

t.test('EventQL: the subset that the definition names, and an honest no to the rest', async (t) => {
  const server = await start(t)
  for (let i = 0; i < 5; i++) {
    await server.call('/api/v1/write-events', {
      body: { events: [candidate(`/${i % 2}`, { i, in: { it: `t${i}` } })] },
    })
  }
  const run = async (query: string) => {
    const { status, body } = await server.call('/api/v1/run-eventql-query', { body: { query } })
    return status === 200 ? lines(body).map(({ payload }) => payload) : JSON.parse(body).error
  }
  t.match(await run('FROM e IN events PROJECT INTO e'), [
    { id: '0' },
    { id: '1' },
    { id: '2' },
    { id: '3' },
    { id: '4' },
  ])
  t.same(await run('from x in events where x.data.i >= 2 AND x.subject == "/0" project into x.data.i'), [2, 4])
  t.same(
    await run(
      "FROM e IN events WHERE e.data.in.it != 't0' ORDER BY e.id DESC SKIP 1 TOP 2 PROJECT INTO { n: e.data.i, none: e.data.gone }",
    ),
    [
      { n: 3, none: null },
      { n: 2, none: null },
    ],
  )
  t.same(await run('FROM e IN events WHERE e.data.i < 3 PROJECT INTO COUNT()'), [3])
  t.same(await run('FROM e IN events WHERE e.data.i == TRUE PROJECT INTO COUNT()'), [0])
  t.same(await run('FROM e IN events WHERE e.data.constructor == NULL PROJECT INTO COUNT()'), [5], 'only own fields')
  t.match(await run('FROM e IN subjects PROJECT INTO e'), /expected EVENTS at character 11/)
  t.match(
    await run('FROM e IN events GROUP BY e.type PROJECT INTO e'),
    /expected PROJECT at character 18; this server knows only a subset/,
  )
  t.match(await run('FROM e IN events ORDER BY e.time PROJECT INTO e'), /expected e\.id/)
  t.match(await run('FROM e IN events'), /at its end/)
  t.match(await run('FROM e IN events WHERE e.a == "'), /no EventQL at character 31/)
})

t.test('observing: what there is, then what is written, until the client leaves', async (t) => {
  const server = await start(t)
  await write(server, '/a', '/b')
  const response = await server.open('/api/v1/observe-events', {
    body: { subject: '/a', options: { recursive: true } },
  })
  const reader = lineReader(response)
  t.match(await reader.next(), { type: 'heartbeat' })
  t.match(await reader.next(), { payload: { id: '0' } })
  await write(server, '/b')
  await write(server, '/a/c')
  t.match(await reader.next(), { payload: { id: '3', subject: '/a/c' } })
  server.clock.advance(10n * SECOND)
  t.match(await reader.next(), { type: 'heartbeat' })
  t.equal(server.observers.size, 1)
  response.destroy()
  await until(() => server.observers.size === 0)
  await until(async () => JSON.parse((await server.call('/api/v1/diagnostics')).body).openStreams === 0)
})

t.test('observing can wait for the first event of a type', async (t) => {
  const server = await start(t)
  await write(server, '/a')
  const latest = { subject: '/b', type: candidate().type, ifEventIsMissing: 'wait-for-event' }
  const response = await server.open('/api/v2/observe-events', {
    body: { subject: '/', options: { recursive: true, fromLatestEvent: latest } },
  })
  const reader = lineReader(response)
  t.match(await reader.next(), { type: 'heartbeat' })
  await write(server, '/a')
  await write(server, '/b')
  t.match(await reader.next(), { payload: { id: '2' } })
  response.destroy()
})

t.test('streams end when the server closes', async (t) => {
  const server = await start(t)
  const response = await server.open('/api/v1/observe-events', { body: { subject: '/' } })
  const text = textOf(response)
  await server.close()
  t.same(lines(await text), [{ type: 'heartbeat', payload: {} }])
})
