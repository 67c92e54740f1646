import t from 'tap'
import { heldBytes } from '../../support/process-memory.ts'
import { candidate, lineReader, lines, SECOND, start, textOf, until } from './harness.ts'

function held(): number {
  const { heap, arrayBuffers } = heldBytes()
  return heap + arrayBuffers
}

t.test('a client that does not read is waited for, and nothing is gathered for it', async (t) => {
  const server = await start(t)
  const events = Array.from({ length: 15 }, () => candidate('/big', { text: 'x'.repeat(60_000) }))
  for (let i = 0; i < 20; i++) await server.call('/api/v1/write-events', { body: { events } })
  const before = held()
  const responses = await Promise.all(
    Array.from({ length: 40 }, () => server.open('/api/v1/read-events', { body: { subject: '/big' } })),
  )
  await new Promise((resolve) => setTimeout(resolve, 300))
  const waiting = (held() - before) / responses.length
  t.ok(waiting < 1_500_000, `${waiting} bytes wait for each of them, client and server, of 18 MB that it asked for`)
  const [first, ...others] = responses
  for (const response of others) response.destroy()
  t.equal(lines(await textOf(first!)).length, 300, 'who reads gets all of it')
  await until(async () => JSON.parse((await server.call('/api/v1/diagnostics')).body).openStreams === 0)
})

t.test('a client that takes nothing for long is given up, one that only waits for events is not', async (t) => {
  const server = await start(t, { idleMs: 300 })
  const events = Array.from({ length: 15 }, () => candidate('/big', { text: 'x'.repeat(60_000) }))
  for (let i = 0; i < 20; i++) await server.call('/api/v1/write-events', { body: { events } })
  const stuck = await server.open('/api/v1/read-events', { body: { subject: '/big' } })
  const waiting = lineReader(await server.open('/api/v1/observe-events', { body: { subject: '/small' } }))
  const openStreams = async () => JSON.parse((await server.call('/api/v1/diagnostics')).body).openStreams
  await until(async () => {
    server.clock.advance(10n * SECOND)
    await waiting.next()
    return (await openStreams()) === 1
  })
  stuck.destroy()
  await server.call('/api/v1/write-events', { body: { events: [candidate('/small')] } })
  let line = await waiting.next()
  while (line?.type === 'heartbeat') line = await waiting.next()
  t.match(line, { type: 'event', payload: { subject: '/small' } })
})
