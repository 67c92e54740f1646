import t from 'tap'
import { endOf, streamWorld } from '../support/stream-world.ts'

const issue = { stream_rent: '120/60', request: '60/60' } as const

t.test('case 1: an update that is denied reports the delay of the whole rent, and its stream ends', async (t) => {
  const { open, spend, advance, clock } = streamWorld({ limits: issue })
  const { host, stream } = open(1000)
  t.same(spend('stream_rent', 114), { admitted: true })
  const denied = stream.update(5001, { registers: true })
  await t.rejects(denied, { message: 'stream_rent 1500' })
  t.equal(stream.topics, 1000, 'nothing is registered')
  t.same(host.failures, [endOf(stream)])
  t.same(host.spends, [[0, 'stream_rent', 2]], 'no target read is paid for')
  t.equal(clock.scheduled, 0)

  t.throws(() => open(5001), { message: 'stream_rent 1500' })
  advance(1.2)
  t.throws(() => open(5001), { message: 'stream_rent 300' })
  advance(0.299)
  t.throws(() => open(5001), { message: 'stream_rent 1' })
  advance(0.001)
  t.same(open(5001).host.spends, [[1.5, 'stream_rent', 7]])
})

t.test('case 2, RATE-034: a target read that is denied reports the delay of two requests', async (t) => {
  const { open, spend } = streamWorld({ limits: issue })
  const { host, stream } = open(0)
  t.same(spend('request', 60), { admitted: true })
  await t.rejects(stream.update(1, { registers: true }), { message: 'request 2000' })
  t.match(endOf(stream), { category: 'request', retryDelayMs: 2000 })
  t.same(host.failures, [endOf(stream)])
  t.equal(stream.topics, 0, 'nothing is registered')
})

t.test(
  'case 8: an update owes rent first, then the target read, and that only if it newly registers a topic',
  async (t) => {
    const { open } = streamWorld()
    const { host, stream } = open(0)
    await stream.update(1000, { registers: true })
    await stream.update(1000, { registers: true })
    await stream.update(2000, { registers: false })
    await stream.update(500)
    t.same(host.spends, [
      [0, 'stream_rent', 1],
      [0, 'stream_rent', 1],
      [0, 'request', 1],
      [0, 'request', 1],
      [0, 'stream_rent', 1],
    ])
    t.equal(stream.topics, 500)
  },
)

t.test('RATE-031: what the period has paid is not paid twice', async (t) => {
  const { open, advance } = streamWorld()
  const { host, stream } = open(3000)
  for (const topics of [3001, 0, 3001, 4000, 1000, 4001]) await stream.update(topics)
  t.same(
    host.spends.map(([, , units]) => units),
    [4, 1, 1],
    'open with 4, then the fifth and the sixth unit',
  )
  await stream.update(0)
  advance(60)
  t.same(host.spends.at(-1), [60, 'stream_rent', 1])
  await stream.update(4001)
  t.same(host.spends.at(-1), [60, 'stream_rent', 5], 'the new period has paid 1 of 6')
})

t.test('RATE-031: the difference is spent before update returns, so in the order of the calls', async (t) => {
  const { open } = streamWorld()
  const { host, stream } = open(0)
  const both = Promise.all([stream.update(2000), stream.update(1000)])
  t.same(host.spends, [
    [0, 'stream_rent', 1],
    [0, 'stream_rent', 2],
  ])
  await both
  t.equal(stream.topics, 1000)
})

t.test('a rent of its own: 0 is free', async (t) => {
  const { open, advance } = streamWorld({ rentOf: (topics) => topics * 2, periodSeconds: 7 })
  const { host, stream } = open(0)
  await stream.update(3)
  advance(7)
  await stream.update(0)
  advance(7)
  t.same(host.spends, [
    [0, 'stream_rent', 0],
    [0, 'stream_rent', 6],
    [7, 'stream_rent', 6],
    [14, 'stream_rent', 0],
  ])
})

t.test('RATE-032: a denied open charges nothing and leaves nothing behind', async (t) => {
  const { open, spend, host, clock } = streamWorld({ limits: issue })
  spend('stream_rent', 119)
  const refused = host()
  t.throws(() => open(1, refused), { message: 'stream_rent 500' })
  t.same(refused.failures, [], 'the handler may answer it otherwise')
  t.equal(clock.scheduled, 0)
  t.same(open(0).host.spends, [[0, 'stream_rent', 1]])
})
