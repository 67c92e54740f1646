import { connect } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { candidate, lines, start, TOKEN, write } from './harness.ts'

const SCHEMA = { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] }

t.test('a backup is restored as it was, into an empty store only', async (t) => {
  const one = await start(t)
  await one.call('/api/v1/register-event-schema', { body: { eventType: candidate().type, schema: SCHEMA } })
  await write(one, '/a', '/b', '/c')
  const backup = (await one.call('/api/v1/backup')).body
  t.same(
    lines(backup).map(({ type }) => type),
    ['event', 'event', 'event', 'schema'],
  )
  for (const version of ['v1', 'v2']) {
    const two = await start(t)
    const restored = await two.call(`/api/${version}/restore`, { body: backup })
    t.equal(restored.status, 200, restored.body)
    t.match(restored.body, /"events":3,"schemas":1/)
    t.equal((await two.call('/api/v1/backup')).body, backup)
    t.equal((await two.call('/api/v1/restore', { body: backup })).status, 409)
  }
  const three = await start(t)
  for (const [what, payload] of Object.entries({
    'a changed event': backup.replace('2001', '2002'),
    'a missing event': backup.split('\n').slice(1).join('\n'),
    'no JSON': '{',
    'another type': '{"type":"row","payload":1}',
    'no UTF-8': Buffer.from([0xff, 10]),
    'a line without end': '['.repeat(200_000),
  })) {
    const headers = { authorization: `Bearer ${TOKEN}` }
    const { statusCode } = await three.app.inject({ method: 'POST', url: '/api/v1/restore', headers, payload })
    t.equal(statusCode, 400, what)
  }
  for (const body of [
    `${backup}${backup.trim().split('\n').at(-1)}`,
    backup.replace('"title":{"type":"string"}', '"title":{"type":"null"}'),
  ]) {
    t.equal(
      (await three.call('/api/v1/restore', { body })).status,
      409,
      'a schema twice, and one that an event does not fit',
    )
  }
  t.equal((await three.call('/api/v1/restore')).status, 400, 'no body')
  t.equal(three.store.eventCount(), 0)
})

t.test('exported events are imported behind those that there are', async (t) => {
  const one = await start(t)
  await write(one, '/a/b', '/b', '/a')
  const exported = (await one.call('/api/v2/export-events', { body: { subject: '/a' } })).body
  t.equal(lines(exported).length, 2)
  t.equal(lines((await one.call('/api/v1/export-events')).body).length, 3)
  const two = await start(t)
  await write(two, '/x')
  for (const version of ['v1', 'v2']) {
    const imported = await two.call(`/api/${version}/import-events`, { body: exported })
    t.match(imported.body, /"events":2/)
  }
  const events = lines((await two.call('/api/v1/backup')).body).map(({ payload }) => payload)
  t.same(
    events.map(({ id, subject }) => [id, subject]),
    [
      ['0', '/x'],
      ['1', '/a/b'],
      ['2', '/a'],
      ['3', '/a/b'],
      ['4', '/a'],
    ],
  )
  t.match(lines((await two.call('/api/v1/audit-history')).body).at(-1), {
    type: 'historyAudited',
    payload: { events: 5 },
  })
  t.match(lines((await two.call('/api/v1/verify-store')).body).at(-1), {
    type: 'storeVerified',
    payload: { events: 5 },
  })
})

t.test('only one restore or import runs at a time; one that is cut off leaves nothing', async (t) => {
  const server = await start(t)
  const head = `POST /api/v1/import-events HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TOKEN}\r\ncontent-length: 100000\r\n\r\n`
  const slow = connect(server.port, '127.0.0.1')
  const line = JSON.stringify({ type: 'event', payload: { ...candidate(), time: '2026-01-01T00:00:00.000Z' } })
  slow.write(`${head}${line}\n`)
  let status = 200
  while (status === 200) status = (await server.call('/api/v2/restore', { body: '\n' })).status
  t.equal(status, 409)
  t.equal((await server.call('/api/v1/import-events', { body: '', headers: { 'content-length': '0' } })).status, 409)
  slow.destroy()
  while (status !== 200) status = (await server.call('/api/v1/import-events', { body: `${line}\n` })).status
  t.equal(server.store.eventCount(), 1)
})

t.test('a store that somebody changed is found out', async (t) => {
  const file = `${t.testdir()}/events.sqlite`
  const server = await start(t, { database: file })
  await write(server, '/a', '/b', '/c')
  const audit = (body?: unknown) => server.call('/api/v1/audit-history', body === undefined ? {} : { body })
  const former = lines((await audit()).body).at(-1).payload
  const { latestEventId, latestEventHash } = former
  t.match(lines((await audit({ latestEventId, latestEventHash })).body).at(-1), { type: 'historyAudited' })
  t.match(lines((await audit({ latestEventId: '1', latestEventHash })).body).at(-1), { type: 'error' })
  t.match(lines((await audit({ latestEventId: '9', latestEventHash })).body).at(-1), {
    payload: { error: /is missing/ },
  })
  const db = new DatabaseSync(file)
  db.exec(`UPDATE events SET event = replace(event, '2001', '2002') WHERE id = 1`)
  t.match(lines((await audit()).body).at(-1), { type: 'error', payload: { error: /^event 1: its hashes/ } })
  db.exec(`UPDATE events SET event = '{}' WHERE id = 1`)
  t.match(lines((await server.call('/api/v2/verify-store')).body).at(-1), { payload: { error: /^event 1: / } })
  db.exec('DELETE FROM events WHERE id = 1')
  t.match(lines((await server.call('/api/v2/verify-store')).body).at(-1), {
    payload: { error: /^event 2: one before/ },
  })
  db.close()
})
