import t from 'tap'
import { bidiClients, serve, streaming, topicsFrom, type Update, watch } from './subscribers.ts'

t.test('a stream that is out of bounds is named and ends, and costs nothing more', async (t) => {
  const server = await serve(t, { request: 10_000, stream_rent: 10_000 })
  const { clients, units, hub } = server
  const long = 'é'.repeat(129)
  const ok = topicsFrom(0, 10_000)
  for (const { name, backend } of streaming(clients)) {
    const before = [units('request'), units('stream_rent')]
    for (const [topics, problem] of [
      [[...Object.keys(ok), 'one more'], 'topics: 10001 entries; allowed: 0 to 10000'],
      [['a', ''], 'topics[1].topic: 0 bytes; allowed: 1 to 256'],
      [[long], 'topics[0].topic: 258 bytes; allowed: 1 to 256'],
      [['a\n'], 'topics[0].topic: allowed: Unicode text without control characters'],
      [['a', 'b', 'a'], 'topics[2]: the topic of an entry before; allowed: each topic once'],
    ] as const) {
      const call = backend.subscribeStatic({ topics: topics.map((topic) => ({ topic })) })
      await t.rejects(call[Symbol.asyncIterator]().next(), { code: 3, rawMessage: problem }, name)
    }
    t.same([units('request'), units('stream_rent')], [before[0]! - 5, before[1]])
    const most = watch(backend, { ...topicsFrom(0, 9999), ['é'.repeat(128)]: 0 })
    await most.has(1)
    most.leave()
  }
  for (const { name, open } of bidiClients(t, server)) {
    // grpc-js leaves some of the percent-encoding of messages.
    for (const [update, message] of [
      [{ adds: { ...ok, more: 0 } }, 'adds: 10001 entries; allowed: 0 to 10000'],
      [{ removes: Array.from({ length: 10_001 }, () => 'a') }, 'removes: 10001 entries; allowed: 0 to 10000'],
      [{ adds: { a: 0, [long]: 0 } }, 'adds[1].topic: 258 bytes; allowed: 1 to 256'],
      [{ removes: [''] }, 'removes[0]: 0 bytes; allowed: 1 to 256'],
    ] satisfies [Update, string][]) {
      const before = [units('request'), units('stream_rent')]
      const stream = open()
      stream.update(update)
      const { code, message: said } = (await stream.outcome)!
      t.same([code, decodeURIComponent(said), stream.received], ['invalid_argument', message, ['Started']], name)
      t.same([units('request'), units('stream_rent')], [before[0]! - 1, before[1]! - 1])
    }
    const stream = open()
    stream.update({ id: 1, adds: ok })
    await stream.has(2)
    stream.update({ id: 2, adds: { another: 0 }, removes: ['topic 7'] })
    await stream.has(3)
    t.equal(stream.received[2], 'Applied 2: 10000 topics, target 0')
    const before = [units('request'), units('stream_rent')]
    stream.update({ id: 3, adds: { 'one more': 0 }, removes: ['never held'] })
    const { code, message } = (await stream.outcome)!
    t.same(
      [code, decodeURIComponent(message)],
      ['invalid_argument', 'adds: 10001 topics held in all; allowed: 0 to 10000'],
      name,
    )
    t.same([units('request'), units('stream_rent')], before)
    t.equal(stream.received.length, 3)
  }
  await new Promise(setImmediate)
  t.equal(hub.size, 0)
})
