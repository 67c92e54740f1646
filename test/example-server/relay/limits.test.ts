import t from 'tap'
import { headOf, openSocket } from '../../support/raw-http1.ts'
import { inBrief, inRow, leftOf, type Relay, somebody, start } from './harness.ts'

/** Units left of a limit: `left(relay, 'global', 60)`. */
function left({ limiter }: Relay, bound: string, windowSeconds: number): number | undefined {
  return leftOf(limiter).find(
    (entry) => entry.bound === bound && 'windowSeconds' in entry.limit && entry.limit.windowSeconds === windowSeconds,
  )?.units
}

t.test('case 5: 20 of 21 at once pass, another sender is not affected, the global counter stands at 20', async (t) => {
  const relay = await start(t)
  const [ann, bob] = [somebody(), somebody()]
  const answers = await Promise.all(
    Array.from({ length: 21 }, (_, i) => relay.post('/messages', ann.message(bob.identity, i))),
  )
  t.equal(answers.filter(({ status }) => status === 202).length, 20)
  t.match(
    answers.filter(({ status }) => status !== 202),
    [{ status: 429, json: { scope: 'sender', window: 'minute', limit: 20 } }],
  )
  t.equal(relay.store.count('messages'), 20)
  t.equal(left(relay, 'global', 60), 1000 - 20)
  t.equal(left(relay, 'global', 3600), 100_000 - 20)
  t.equal(left(relay, 'global', 86_400), 1_000_000 - 20)
  t.equal((await relay.post('/messages', bob.message(ann.identity))).status, 202)
})

t.test('case 5, seen from outside: of 50 global ones a minute, 30 are left for everybody else', async (t) => {
  const relay = await start(t, { sender: { minute: 20 }, global: { minute: 50 } })
  t.equal(await inRow(40, () => relay.forge('ann')), '20 x 401, 20 x 429')
  t.equal(await inRow(31, async () => (await relay.get('/health')).status), '30 x 200, 1 x 429')
})

t.test('the 429 is the one of the document', async (t) => {
  const relay = await start(t)
  await inRow(20, () => relay.forge('ann'))
  relay.pass(500)
  const { status, headers, text } = await relay.post('/messages', { sender: 'ann' })
  t.equal(status, 429)
  t.equal(headers.get('content-type'), 'application/json')
  t.equal(headers.get('retry-after'), '3')
  t.equal(
    text,
    '{"error":"rate_limit_exceeded","scope":"sender","window":"minute","limit":20,"reset_at":"2026-03-28T12:00:03Z"}',
  )
  relay.pass(1)
  t.match((await relay.post('/messages', { sender: 'ann' })).json, { reset_at: '2026-03-28T12:00:03Z' })
})

t.test('reset_at is rounded up to the second, and by then it admits', async (t) => {
  // One in 3.75 s.
  const relay = await start(t, { sender: { minute: 16 } })
  await inRow(16, () => relay.forge('ann'))
  t.match((await relay.post('/acks', { sender: 'ann' })).json, { reset_at: '2026-03-28T12:00:04Z' })
  relay.pass(3749)
  t.equal(await relay.forge('ann'), 429)
  relay.pass(1)
  t.equal(await relay.forge('ann'), 401)
})

t.test('reset_at is rounded up also where the next second is further than the last', async (t) => {
  // One in 3.333… s.
  const relay = await start(t, { sender: { minute: 18 } })
  await inRow(18, () => relay.forge('ann'))
  t.match((await relay.post('/messages', { sender: 'ann' })).json, { reset_at: '2026-03-28T12:00:04Z' })
})

t.test('of too many senders those are forgotten who owe least; the others share nothing', async (t) => {
  const relay = await start(t, { sender: { minute: 3 }, global: {} }, { maxSenders: 2 })
  t.equal(await inRow(3, () => relay.forge('ann')), '3 x 401')
  for (const sender of ['bob', 'eve', 'ivy', 'bob']) {
    t.equal(await inRow(2, () => relay.forge(sender)), '2 x 401', `${sender} is nobody's tail`)
  }
  t.equal(await relay.forge('ann'), 429, 'who owes most is remembered')
  t.equal(await inRow(2, () => relay.forge('bob')), '1 x 401, 1 x 429', 'and so is the last one')
})

t.test('a thousand senders are remembered', async (t) => {
  const { app } = await start(t, { sender: { minute: 1 }, global: {} })
  const status = async (i: number) =>
    (await app.inject({ method: 'POST', url: '/messages', payload: `{"sender":"s${i}"}` })).statusCode
  t.equal(await inRow(1000, status), '1000 x 401')
  t.equal(await inRow(1000, status), '1000 x 429')
})

t.test('the same buckets gate messages and acks', async (t) => {
  const relay = await start(t)
  t.equal(await inRow(20, (i) => relay.forge('ann', i % 2 ? '/messages' : '/acks')), '20 x 401')
  t.equal(await relay.forge('ann', '/messages'), 429)
  t.equal(await relay.forge('ann', '/acks'), 429)
})

t.test('a bucket of 20 fills by one in 3 s', async (t) => {
  const relay = await start(t)
  t.equal(await inRow(21, () => relay.forge('ann')), '20 x 401, 1 x 429')
  relay.pass(2999)
  t.equal(await relay.forge('ann'), 429)
  relay.pass(1)
  t.equal(await inRow(2, () => relay.forge('ann')), '1 x 401, 1 x 429')
  relay.pass(60_000)
  t.equal(await inRow(21, () => relay.forge('ann')), '20 x 401, 1 x 429', 'after a minute it is full, and no fuller')
})

t.test('200 an hour: a sender who uses each minute in full is stopped by the hour', async (t) => {
  const relay = await start(t)
  for (let minute = 0; minute < 10; minute++) {
    t.equal(await inRow(20, () => relay.forge('ann')), '20 x 401', `minute ${minute}`)
    relay.pass(60_000)
  }
  const { status, json } = await relay.post('/messages', { sender: 'ann' })
  t.match([status, json], [429, { scope: 'sender', window: 'hour', limit: 200 }])
  const resetMs = Date.parse(json!.reset_at as string) - relay.clock.wall()
  relay.pass(resetMs - 1001)
  t.equal(await relay.forge('ann'), 429, 'more than a second before reset_at')
  relay.pass(1001)
  t.equal(await relay.forge('ann'), 401, 'at reset_at')
})

t.test('the day has a ceiling of its own', async (t) => {
  const relay = await start(t, { sender: { minute: 0, hour: 10, day: 15 } })
  t.equal(await inRow(11, () => relay.forge('ann')), '10 x 401, 1 x 429')
  relay.pass(2 * 3_600_000)
  t.equal(await inRow(6, () => relay.forge('ann')), '5 x 401, 1 x 429')
  const { json } = await relay.post('/messages', { sender: 'ann' })
  t.match(json, { scope: 'sender', window: 'day', limit: 15 })
  const resetAt = Date.parse(json!.reset_at as string)
  t.ok(resetAt > relay.clock.wall() + 3_600_000, 'not before hours have passed')
  relay.pass(resetAt - relay.clock.wall())
  t.equal(await relay.forge('ann'), 401)
})

t.test('the first exceeded limit is named, and reset_at is its own, while Retry-After is for all', async (t) => {
  const relay = await start(t, { sender: { minute: 2, hour: 2 } })
  await inRow(2, () => relay.forge('ann'))
  const { json, headers } = await relay.post('/messages', { sender: 'ann' })
  t.match(json, { scope: 'sender', window: 'minute', limit: 2, reset_at: '2026-03-28T12:00:30Z' })
  t.ok(Number(headers.get('retry-after')) > 1800, `not before the hour admits: ${headers.get('retry-after')}`)
})

t.test('many senders who each stay under their limits meet the global one', async (t) => {
  const relay = await start(t, { sender: { minute: 20 }, global: { minute: 100 } })
  for (let sender = 0; sender < 5; sender++) t.equal(await inRow(20, () => relay.forge(`s${sender}`)), '20 x 401')
  const { status, json } = await relay.post('/messages', { sender: 'a new one' })
  t.match(
    [status, json],
    [429, { scope: 'global', window: 'minute', limit: 100, reset_at: '2026-03-28T12:00:01Z' }],
    'one in 0.6 s, rounded up',
  )
  t.equal(await relay.forge('s0'), 429)
  t.match((await relay.post('/messages', { sender: 's0' })).json, { scope: 'sender' }, 'that of the sender is first')
  relay.pass(600)
  t.equal(await relay.forge('a new one'), 401, 'the global refusal has cost its sender nothing, and nobody else')
  relay.pass(59_400)
  t.equal(await inRow(20, () => relay.forge('a new one')), '20 x 401')
})

for (const [window, seconds] of [
  ['minute', 60],
  ['hour', 3600],
  ['day', 86_400],
] as const) {
  t.test(`a global limit by ${window}`, async (t) => {
    const relay = await start(t, { sender: {}, global: { [window]: 5 } })
    t.equal(await inRow(6, (i) => relay.forge(`s${i}`)), '5 x 401, 1 x 429')
    const { json } = await relay.post('/acks', { sender: 'x' })
    t.match(json, { error: 'rate_limit_exceeded', scope: 'global', window, limit: 5 })
    relay.pass(Date.parse(json!.reset_at as string) - relay.clock.wall())
    t.equal(await relay.forge('x'), 401)
    relay.pass(2 * seconds * 1000)
    t.equal(await inRow(6, (i) => relay.forge(`s${i}`)), '5 x 401, 1 x 429')
  })
}

t.test('public reads: only the global bound, once each, HEAD too', async (t) => {
  const relay = await start(t, { sender: { minute: 1 }, global: { minute: 8 } })
  const { identity } = somebody()
  t.equal(await inRow(2, () => relay.forge(identity)), '1 x 401, 1 x 429')
  t.match(await relay.get('/health'), { status: 200, text: '{"status":"ok"}' })
  t.match(await relay.get(`/identities/${identity}`), { status: 200 })
  t.match(await relay.get('/identities/nobody'), { status: 404 })
  t.match(await relay.get('/auth/challenge'), { status: 200 })
  t.match(await relay.get('/health', 'HEAD'), { status: 200, text: '' })
  t.equal(await inRow(3, async () => (await relay.get('/health')).status), '2 x 200, 1 x 429')
  for (const path of ['/health', `/identities/${identity}`, '/auth/challenge']) {
    const { status, text } = await relay.get(path)
    t.match([status, JSON.parse(text)], [429, { scope: 'global', window: 'minute', limit: 8 }], path)
  }
  t.equal((await relay.get('/', 'OPTIONS')).status, 404)
})

t.test('refused, a request costs nothing, nowhere', async (t) => {
  const relay = await start(t, { sender: { minute: 3 }, global: { minute: 10 } })
  t.equal(await inRow(100, () => relay.forge('ann')), '3 x 401, 97 x 429')
  t.equal(left(relay, 'global', 60), 7)
  relay.pass(20_000)
  t.equal(await relay.forge('ann'), 401)
})

t.test('what names no sender costs the global bound alone', async (t) => {
  const relay = await start(t, { sender: { minute: 1 }, global: { minute: 6 } })
  for (const body of ['{}', 'nonsense', '{"sender":7}', '{"sender":""}', '[]']) {
    t.match(await relay.post('/messages', body), { status: 400, json: { error: 'invalid_message' } }, body)
  }
  t.equal(left(relay, 'global', 60), 1)
  t.equal(await relay.forge('ann'), 401)
  t.match(await relay.post('/messages', 'nonsense'), { status: 429, json: { scope: 'global' } })
})

t.test('1000 at once never pass more than the limits', async (t) => {
  const relay = await start(t)
  t.equal(await atOnce(t, relay, (i) => `s${i % 4}`), '80 x 401, 920 x 429')
  t.equal(left(relay, 'global', 60), 1000 - 80)
  const crowd = await start(t, { sender: { minute: 1 }, global: { minute: 300 } })
  t.equal(await atOnce(t, crowd, (i) => `s${i}`), '300 x 401, 700 x 429')
})

/** What 1000 requests are answered that are all sent before the first answer is read, on 100 connections. */
async function atOnce(t: Parameters<typeof openSocket>[0], { port }: Relay, senderOf: (i: number) => string) {
  const sockets = await Promise.all(Array.from({ length: 100 }, () => openSocket(t, port)))
  for (let i = 0; i < 1000; i++) {
    const body = JSON.stringify({ sender: senderOf(i) })
    sockets[i % 100]!.write(headOf('/messages', [['content-length', body.length]]) + body)
  }
  const answers = sockets.map(async (socket) => {
    const statuses: number[] = []
    for (let i = 0; i < 10; i++) statuses.push((await socket.response()).status)
    return statuses
  })
  return inBrief((await Promise.all(answers)).flat().sort())
}

t.test('a restart forgets all counters', async (t) => {
  t.equal(await (await start(t, { sender: { minute: 1 } })).forge('ann'), 401)
  t.equal(await (await start(t, { sender: { minute: 1 } })).forge('ann'), 401)
})

t.test('0 switches one window off', async (t) => {
  const relay = await start(t, { sender: { minute: 0, hour: 3, day: 0 }, global: {} })
  t.equal(await inRow(4, () => relay.forge('ann')), '3 x 401, 1 x 429')
  t.match((await relay.post('/messages', { sender: 'ann' })).json, { scope: 'sender', window: 'hour', limit: 3 })
  const free = await start(t, { sender: {}, global: {} })
  t.equal(await inRow(100, () => free.forge('ann')), '100 x 401')
})

t.test('-1, be it in one window, blocks everybody for good', async (t) => {
  const both = await start(t, { sender: { hour: -1, day: -1 }, global: { minute: -1 } })
  t.match((await both.post('/acks', { sender: 'ann' })).json, { scope: 'sender', window: 'hour', reset_at: null })
  t.match((await both.post('/acks', {})).json, { scope: 'global', window: 'minute', reset_at: null })

  for (const window of ['minute', 'hour', 'day'] as const) {
    const relay = await start(t, { sender: { minute: 20, hour: 200, [window]: -1 }, global: { minute: 2 } })
    const { status, headers, json } = await relay.post('/messages', { sender: 'ann' })
    const body = { error: 'rate_limit_exceeded', scope: 'sender', window, limit: 0, reset_at: null }
    t.same([status, json], [429, body])
    t.equal(headers.get('retry-after'), null, 'there is no later')
    relay.pass(1_000_000_000)
    t.equal(await relay.forge('ann', '/acks'), 429)
    t.equal(await inRow(3, async () => (await relay.get('/health')).status), '2 x 200, 1 x 429', 'reads go on')

    const all = await start(t, { sender: { minute: 1 }, global: { minute: 1000, [window]: -1 } })
    t.same((await all.post('/messages', { sender: 'ann' })).json, { ...body, scope: 'global' })
    t.equal((await all.get('/health')).status, 429, 'what is subject to the global bound')
  }
})
