import t from 'tap'
import { createLimiter, manualClock } from '../../src/index.ts'
import { until } from '../support/live-app.ts'
import { rejectionOf } from '../support/rejection.ts'
import { LOOPBACK, left, start } from './harness.ts'
import { bidiClients, serve, streaming, topicsFrom, watch } from './subscribers.ts'

t.test('case 6: RATE-030: a stream of no topics pays 1, of 1000 pays 2, of 1001 pays 3, in each period', async (t) => {
  const clock = manualClock()
  // Earned back so slowly that it does not show.
  const rent = { count: 1000, windowSeconds: 8_640_000 }
  const limiter = createLimiter({ rateLimits: { categories: { stream_rent: { default: [rent] } } }, clock })
  const { clients, hub } = await start(t, {}, { limiter })
  const units = () => left(limiter, LOOPBACK).stream_rent!
  for (const { name, backend } of streaming(clients)) {
    for (const [topics, owed] of [
      [0, 1],
      [1000, 2],
      [1001, 3],
    ] as const) {
      clock.advance(8_640_000_000_000_000n)
      const before = units()
      const stream = watch(backend, topicsFrom(0, topics))
      await stream.has(1)
      t.equal(before - units(), owed, `${name}: ${topics} topics, at the opening`)
      t.equal(hub.size, topics)
      clock.advance(59_999_000_000n)
      t.equal(before - units(), owed)
      clock.advance(1_000_000n)
      t.equal(before - units(), 2 * owed)
      clock.advance(60_000_000_000n)
      t.equal(before - units(), 3 * owed, 'after two more periods')
      stream.leave()
      await until(() => hub.size === 0 && clock.scheduled === 0)
    }
  }
})

t.test('case 1: RATE-031, RATE-032: an Update whose rent is denied ends the stream with the whole rent', async (t) => {
  const server = await serve(t)
  const { clients, hub, units, spend, advance } = server
  for (const { name, open } of bidiClients(t, server)) {
    await t.test(name, async (t) => {
      advance(600)
      const stream = open()
      await stream.has(1)
      stream.update({ id: 1, adds: topicsFrom(0, 1000) })
      await stream.has(2)
      t.equal(units('stream_rent'), 118)
      spend('stream_rent', 114)
      const requests = units('request')
      stream.update({ id: 2, adds: topicsFrom(1000, 4001) })
      t.same(await stream.outcome, rejectionOf('stream_rent', 1500), 'the delay for 7, not for 5')
      t.same(stream.received, ['Started', 'Applied 1: 1000 topics, target 0'])
      t.equal(units('request'), requests, 'no target read is paid for')
      await until(() => hub.size === 0)

      for (const { name, backend } of streaming(clients)) {
        const reopen = () => watch(backend, topicsFrom(0, 5001)).outcome
        t.same(await reopen(), rejectionOf('stream_rent', 1500), name)
      }
      advance(1.499)
      const [{ backend }] = streaming(clients) as [(typeof clients)[0]]
      const early = watch(backend, topicsFrom(0, 5001))
      t.same(await early.outcome, rejectionOf('stream_rent', 1))
      t.same(early.received, [])
      t.equal(hub.size, 0)
      advance(0.001)
      const admitted = watch(backend, topicsFrom(0, 5001))
      await admitted.has(1)
      t.equal(hub.size, 5001)
      admitted.leave()
      await until(() => hub.size === 0)
    })
  }
})

t.test('case 2: RATE-034: an Update whose target read is denied ends the stream, with 2000 ms', async (t) => {
  const server = await serve(t)
  const { hub, units, spend, advance, publish } = server
  await publish('a')
  for (const { name, open } of bidiClients(t, server)) {
    advance(600)
    const stream = open()
    await stream.has(1)
    spend('request', units('request'))
    stream.update({ id: 1, adds: { a: 0 } })
    t.same(await stream.outcome, rejectionOf('request', 2000), name)
    t.same(stream.received, ['Started'])
    t.equal(hub.size, 0)
    advance(1.999)
    const early = open()
    await early.has(1)
    early.update({ id: 1, adds: { a: 0 } })
    t.same((await early.outcome)?.code, 'resource_exhausted')
    advance(2)
    const again = open()
    await again.has(1)
    again.update({ id: 1, adds: { a: 0 } })
    await again.has(2)
    t.same(again.received, ['Started', 'Applied 1: 1 topics, target 1'], 'its read waits')
    again.leave()
    await until(() => hub.size === 0)
  }
})

t.test('case 8: an Update spends rent before its target read; one that registers nothing owes no read', async (t) => {
  const server = await serve(t)
  const { hub, units, spend, advance } = server
  for (const { name, open } of bidiClients(t, server)) {
    await t.test(name, async (t) => {
      advance(600)
      const stream = open()
      stream.update({ id: 1, adds: { a: 0, b: 0 } })
      await stream.has(2)
      t.equal(units('request'), 58, 'the call, and one target; there is nothing to catch up with')
      for (const update of [
        { id: 2 },
        { id: 3, adds: { a: 0 } },
        { id: 4, removes: ['b', 'never held'] },
        { id: 5, adds: { a: 7 }, removes: ['b'] },
      ]) {
        stream.update(update)
      }
      await stream.has(6)
      t.equal(units('request'), 58)
      t.equal(units('stream_rent'), 118)
      t.same(stream.received.slice(2), [
        'Applied 2: 2 topics, target 0',
        'Applied 3: 2 topics, target 0',
        'Applied 4: 1 topics, target 0',
        'Applied 5: 1 topics, target 0',
      ])
      t.equal(hub.size, 1)
      stream.update({ id: 6, adds: { a: 0 }, removes: ['a'] })
      await stream.has(7)
      t.equal(units('request'), 57, 'given up and taken again is new')
      t.equal(units('stream_rent'), 118, 'and costs no more rent')

      spend('stream_rent', 118)
      spend('request', 57)
      stream.update({ id: 7, adds: topicsFrom(0, 1999) })
      t.same(await stream.outcome, rejectionOf('stream_rent', 1500), 'both are owed, and neither is left: the rent is')
      await until(() => hub.size === 0)
    })
  }
})
