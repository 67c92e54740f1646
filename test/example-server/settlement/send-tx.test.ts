import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { callText, HOUR, MINUTE, MS, outcomeOf, start, txLimited } from './harness.ts'

const tx = (max: number, interval: string) =>
  `[rate-limiting.send-tx]\nmax-per-interval = ${max}\ninterval-duration = "${interval}"\n`

t.test('case 4: 1 per 10 min is not 3 per 30 min', async (t) => {
  const three = await start(t, tx(3, '30min'))
  const one = await start(t, tx(1, '10min'))
  for (let i = 0; i < 3; i++) t.equal(await three.sendTx(1), 'settled', 'three at once')
  t.same(await three.sendTx(1), txLimited(3, 1800, 1800))
  t.equal(await one.sendTx(1), 'settled')
  t.same(await one.sendTx(1), txLimited(1, 600, 600))
  for (const { clock } of [three, one]) clock.advance(10n * MINUTE)
  t.same(await three.sendTx(1), txLimited(3, 1800, 1200), '10 min after the first: not yet')
  t.equal(await one.sendTx(1), 'settled', '10 min after the first')
  three.clock.advance(20n * MINUTE - MS)
  t.same(await three.sendTx(1), txLimited(3, 1800, 1), '1 ms too early')
  three.clock.advance(MS)
  for (let i = 0; i < 3; i++) t.equal(await three.sendTx(1), 'settled', '30 min after the first')
  t.same(await three.sendTx(1), txLimited(3, 1800, 1800))
})

t.test('in any interval, wherever it begins', async (t) => {
  const { clock, sendTx } = await start(t, tx(3, '30min'))
  for (let i = 0; i < 3; i++) {
    t.equal(await sendTx(1), 'settled')
    clock.advance(10n * MINUTE)
  }
  t.equal(await sendTx(1), 'settled', 'the first was 30 min ago')
  t.same(await sendTx(1), txLimited(3, 1800, 600), 'the second was 20 min ago')
  clock.advance(5n * MINUTE)
  t.same(await sendTx(1), txLimited(3, 1800, 300))
})

t.test('until-next is in whole seconds, rounded up: who waits that long is admitted', async (t) => {
  const { clock, sendTx } = await start(t, tx(1, '10s'))
  t.equal(await sendTx(1), 'settled')
  clock.advance(1500n * MS)
  t.same(await sendTx(1), txLimited(1, 10, 9), '8.5 s')
  clock.advance(9000n * MS)
  t.equal(await sendTx(1), 'settled')
})

t.test('a refusal is the error of the document, in an answer to the call', async (t) => {
  const { post, sendTx } = await start(t, tx(1, '1h'))
  await sendTx(1)
  const { status, json, headers } = await post(callText('sendTx', 1, Buffer.from('a')))
  t.equal(status, 200)
  t.match(headers.get('content-type'), /^application\/json/)
  const detail = (json.error!.data as { 'rate-limited': { detail: string } })['rate-limited'].detail
  t.same(json, {
    jsonrpc: '2.0',
    id: 7,
    error: {
      code: -10007,
      message: 'Rate limited',
      data: {
        'rate-limited': {
          detail,
          error: { 'send-tx-rate-limited': { 'max-per-interval': 1, 'time-interval': 3600, 'until-next': 3600 } },
        },
      },
    },
  })
  t.match(detail, /sendTx.*3600 s/)
})

t.test('each network has its own', async (t) => {
  const own = '[rate-limiting.network.2.send-tx]\nmax-per-interval = 2\ntime-interval = "15min"\n'
  const { sendTx } = await start(t, tx(1, '1h') + own)
  t.equal(await sendTx(1), 'settled')
  t.same(await sendTx(1), txLimited(1, 3600, 3600))
  t.equal(await sendTx(3), 'settled', 'another one is not affected')
  for (let i = 0; i < 2; i++) t.equal(await sendTx(2), 'settled')
  t.same(await sendTx(2), txLimited(2, 900, 900))
})

t.test('0 disables it, for all or for one, and "unlimited" switches the limit off', async (t) => {
  const own =
    '[rate-limiting.network.2]\nsend-tx = "unlimited"\n[rate-limiting.network.3.send-tx]\nmax-per-interval = 1\ntime-interval = "1h"\n'
  const { post, sendTx, sendCertificate, clock } = await start(t, tx(0, '1h') + own)
  t.same(await sendTx(1), { 'send-tx-disabled': {} })
  clock.advance(1_000_000n * HOUR)
  const { json } = await post(callText('sendTx', 1, Buffer.from('a')))
  t.match(json, { error: { code: -10007, message: 'Rate limited', data: { 'rate-limited': { detail: String } } } })
  t.equal(await sendCertificate(1), 'settled', 'the other method is not')
  for (let i = 0; i < 20; i++) t.equal(await sendTx(2), 'settled')
  t.equal(await sendTx(3), 'settled')
})

t.test(
  'an open settlement holds its slot; one that fails gives it back, one that succeeds counts from then',
  async (t) => {
    const { clock, l1, sendTx, logged } = await start(t, tx(1, '1h'))
    l1.hold()
    const first = sendTx(1)
    await l1.opened(1)
    t.same(await sendTx(1), txLimited(1, 3600, null), 'only a reservation holds the room')
    clock.advance(5n * HOUR)
    t.same(await sendTx(1), txLimited(1, 3600, null), 'it is not earned back')
    l1.failOne()
    t.equal(await first, -10004, 'the settlement failed')
    t.notMatch(logged.join(''), /SECRET/)

    const second = sendTx(1)
    await l1.opened(1)
    clock.advance(MINUTE)
    l1.settleOne()
    t.equal(await second, 'settled')
    t.same(await sendTx(1), txLimited(1, 3600, 3600), 'counted from when it succeeded')
    clock.advance(HOUR - 1n * MS)
    t.same(await sendTx(1), txLimited(1, 3600, 1))
    clock.advance(MS)
    l1.settleAll()
    t.equal(await sendTx(1), 'settled')
  },
)

t.test('with one open and one settled, until-next is when the settled one ceases to count', async (t) => {
  const { clock, l1, sendTx } = await start(t, tx(2, '1h'))
  t.equal(await sendTx(1), 'settled')
  l1.hold()
  const open = sendTx(1)
  await l1.opened(1)
  clock.advance(10n * MINUTE)
  t.same(await sendTx(1), txLimited(2, 3600, 3000))
  clock.advance(50n * MINUTE)
  const another = sendTx(1)
  await l1.opened(2)
  t.same(await sendTx(1), txLimited(2, 3600, null), 'both are open')
  l1.failOne()
  l1.failOne()
  t.same(await Promise.all([open, another]), [-10004, -10004])
  l1.settleAll()
  for (let i = 0; i < 2; i++) t.equal(await sendTx(1), 'settled', 'no trace of those that failed')
  t.same(await sendTx(1), txLimited(2, 3600, 3600))
})

t.test('a client that leaves does not give back the slot of a settlement that goes on', async (t) => {
  const { l1, sendTx, settled, url } = await start(t, tx(1, '1h'))
  l1.hold()
  const leaving = new AbortController()
  const gone = fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: callText('sendTx', 1, Buffer.from('a')),
    signal: leaving.signal,
  })
  await l1.opened(1)
  leaving.abort()
  await t.rejects(gone)
  t.same(await sendTx(1), txLimited(1, 3600, null))
  l1.settleOne()
  while (settled.count() === 0) await new Promise(setImmediate)
  t.same(await sendTx(1), txLimited(1, 3600, 3600))
  t.equal(await sendTx(1, Buffer.from('a')), 'settled', 'it is told when it asks again, and not charged')
  t.equal(l1.posted, 1)
})

t.test('the server ends after settlements that nobody waits for any more, and knows them next time', async (t) => {
  const database = join(t.testdir(), 'settled.sqlite')
  const { l1, url, http, close } = await start(t, tx(1, '1h'), { database })
  l1.hold()
  const leaving = new AbortController()
  const call = callText('sendTx', 1, Buffer.from('a'))
  const headers = { 'content-type': 'application/json' }
  const gone = fetch(url, { method: 'POST', headers, body: call, signal: leaving.signal })
  await l1.opened(1)
  leaving.abort()
  await t.rejects(gone)
  let ended = false
  const closed = close().then(() => {
    ended = true
  })
  while (http.server.listening) await new Promise(setImmediate)
  for (let i = 0; i < 50; i++) await new Promise(setImmediate)
  t.notOk(ended)
  l1.settleOne()
  await closed
  const next = await start(t, tx(1, '1h'), { database })
  t.equal(outcomeOf((await next.post(call)).json), 'settled')
  t.equal(next.l1.posted, 0)
})

t.test(
  'what the L1 has and the store does not take settles once all the same; nothing else begins meanwhile',
  async (t) => {
    const database = join(t.testdir(), 'settled.sqlite')
    const { l1, post, sendTx, settled, logged, close } = await start(t, tx(3, '1h'), { database })
    const outside = new DatabaseSync(database)
    t.teardown(() => outside.close())
    const fail = () =>
      outside.exec("CREATE TRIGGER full BEFORE INSERT ON settled BEGIN SELECT RAISE(ABORT, 'full'); END")
    const call = (payload: string) => post(callText('sendTx', 1, Buffer.from(payload)))
    l1.hold()
    const both = [call('a'), call('b')]
    await l1.opened(2)
    fail()
    l1.settleAll()
    const hashes = (await Promise.all(both)).map(({ json }) => json.result)
    t.match(hashes, [/^0x/, /^0x/])
    t.same([(await call('a')).json.result, (await call('b')).json.result], hashes, 'they are told when they ask again')
    t.equal(await sendTx(1), -32603)
    t.match(logged.join(''), /could not be stored/)
    t.same([l1.posted, settled.count()], [2, 0])

    outside.exec('DROP TRIGGER full')
    t.equal(await sendTx(1), 'settled')
    t.equal(settled.count(), 3)
    t.same((await call('b')).json.result, hashes[1])
    t.same(await sendTx(1), txLimited(3, 3600, 3600), 'three were charged')

    fail()
    const other = await post(callText('sendTx', 2, Buffer.from('a')))
    outside.exec('DROP TRIGGER full')
    await close()
    const next = await start(t, tx(3, '1h'), { database })
    const again = await next.post(callText('sendTx', 2, Buffer.from('a')))
    t.equal(again.json.result, other.json.result, 'the last one was stored in the end')
    t.equal(next.l1.posted, 0)
  },
)

t.test('1000 at once never pass more than the limit', async (t) => {
  const { l1, post, sendTx, clock } = await start(t, tx(7, '1h'))
  l1.hold()
  const attack = Promise.all(Array.from({ length: 1000 }, () => sendTx(1)))
  await l1.opened(7)
  t.same(await sendTx(1), txLimited(7, 3600, null), 'seven are open')
  for (let i = 0; i < 3; i++) l1.failOne()
  l1.settleAll()
  const settled = (await attack).filter((outcome) => outcome === 'settled').length
  t.equal(settled, l1.posted)
  t.ok(settled >= 4 && settled <= 7, `${settled}: the rooms of those that failed may be taken again`)
  await Promise.all(Array.from({ length: 20 }, () => sendTx(1)))
  t.equal(l1.posted, 7)
  clock.advance(HOUR)
  const batch = Array.from({ length: 50 }, (_, i) => JSON.parse(callText('sendTx', 1, Buffer.from(`batch ${i}`))))
  const { json } = await post(JSON.stringify(batch))
  const outcomes = (json as unknown as Parameters<typeof outcomeOf>[0][]).map(outcomeOf)
  t.equal(outcomes.filter((outcome) => outcome === 'settled').length, 7, 'nor in one batch')
})

t.test('the greatest limit there is has room', async (t) => {
  const { sendTx } = await start(t, tx(100_000, '100 days'))
  for (let i = 0; i < 3; i++) t.equal(await sendTx(1), 'settled')
})
