import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { setTimeout, setImmediate as turn } from 'node:timers/promises'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import fc from 'fast-check'
import t from 'tap'
import {
  SubscribeStaticRequestSchema,
  SubscribeStaticResponseSchema,
} from '../../example-server/gen/example/v1/backend_pb.ts'
import { createLimiter } from '../../src/index.ts'
import { until } from '../support/live-app.ts'
import { LOOPBACK, limits, message, SERVICE, start } from './harness.ts'
import { bidiClients, type Subscriber, serve, streaming, topicsFrom, watch } from './subscribers.ts'

const repeat = (topic: string, count: number): string[] => Array.from({ length: count }, () => topic)
const ids = (topic: string, from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, i) => `${topic} ${from + i}`)

t.test('history above the cursors, then what is published, each once and in order', async (t) => {
  const server = await serve(t, { request: 600 })
  const { clients, publish, units, hub } = server
  await publish(...repeat('a', 250), ...repeat('b', 3), 'c')
  for (const { name, backend } of streaming(clients)) {
    await t.test(`SubscribeStatic, ${name}`, async (t) => {
      const before = units('request')
      const stream = watch(backend, { a: 0, b: 252, none: 0 })
      await stream.has(1 + 250 + 1)
      t.same(stream.received, ['Started', ...ids('a', 1, 250), 'b 253'])
      t.equal(before - units('request'), 4, 'the call, and three pages')
      stream.leave()
      await until(() => hub.size === 0)
    })
  }
  for (const [i, { name }] of bidiClients(t, server).entries()) {
    await t.test(`Subscribe, ${name}`, async (t) => {
      const server = await serve(t)
      const { publish, units, hub } = server
      const { open } = bidiClients(t, server)[i]!
      await publish(...repeat('a', 250), ...repeat('b', 3), 'c')
      const before = units('request')
      const stream = open()
      stream.update({ id: 1, adds: { b: 251, [name]: 0, gone: 0 } })
      await stream.has(1 + 1 + 2)
      t.same(stream.received, ['Started', 'Applied 1: 3 topics, target 253', 'b 252', 'b 253'])
      await publish(name, 'gone', 'c')
      await stream.has(6)
      t.equal(before - units('request'), 3, 'the call, the target and a page; what is live is free')
      stream.update({ id: 2, adds: { b: 0, c: 1_000_000 }, removes: ['gone'] })
      await stream.has(7)
      await publish('gone', 'c', 'b')
      await stream.has(8)
      const own = stream.received.slice(4, 6)
      t.ok(own[0]!.startsWith(name) && own[1]!.startsWith('gone'), 'live, in the order of publishing')
      t.match(stream.received[6], /^Applied 2: 3 topics/)
      t.match(stream.received[7], /^b /, 'neither what was given up nor what is below its cursor')
      t.equal(stream.received.length, 8)
      stream.halfClose()
      await publish('b')
      await stream.has(9)
      t.match(stream.received[8], /^b /, 'a client that half-closes keeps what it holds')
      stream.leave()
      t.equal((await stream.outcome)?.code, 'canceled')
      await until(() => hub.size === 0)
    })
  }
})

t.test('a client that half-closes and holds nothing is done', async (t) => {
  const server = await serve(t)
  for (const { name, open } of bidiClients(t, server)) {
    const stream = open()
    stream.update({ id: 1, adds: { a: 0 } })
    stream.update({ id: 2, removes: ['a'] })
    stream.halfClose()
    t.equal(await stream.outcome, undefined, name)
    t.same(stream.received, ['Started', 'Applied 1: 1 topics, target 0', 'Applied 2: 0 topics, target 0'])
  }
  t.equal(server.hub.size, 0)
  t.equal(server.hub.topics, 0)
})

t.test('RATE-033: while the read of one registration is denied and waits, the others are delivered', async (t) => {
  const server = await serve(t)
  const { publish, units, spend, hub, advance, store } = server
  const base = () => store.newestOf(['old'])
  for (const { name, open } of bidiClients(t, server)) {
    await t.test(name, async (t) => {
      advance(600)
      await publish(...repeat('old', 2))
      const last = Number(base())
      const stream = open()
      stream.update({ id: 1, adds: { live: 1_000_000 } })
      await stream.has(2)
      stream.update({ id: 2, removes: ['live'], adds: { live: last } })
      await stream.has(3)
      // One is left: for the target.
      spend('request', units('request') - 1)
      stream.update({ id: 3, adds: { old: last - 2 } })
      await stream.has(4)
      t.equal(stream.received[3], `Applied 3: 2 topics, target ${last}`)
      await publish('live', 'old', 'live')
      await stream.has(6)
      advance(0.999)
      await publish('live')
      await stream.has(7)
      t.same(
        stream.received.slice(4),
        [`live ${last + 1}`, `live ${last + 3}`, `live ${last + 4}`],
        'nothing of the other is read or delivered before the delay',
      )
      t.equal(units('request'), 0)
      advance(0.001)
      await stream.has(10)
      t.same(stream.received.slice(7), [`old ${last - 1}`, `old ${last}`, `old ${last + 2}`], 'nothing is skipped')
      t.equal(units('request'), 0)
      await publish('old')
      await stream.has(11)
      t.equal(stream.received[10], `old ${last + 5}`, 'and is live then')
      stream.leave()
      await until(() => hub.size === 0)
    })
  }
})

t.test('RATE-011: a read that has waited until nothing was left to read is not paid for again', async (t) => {
  const server = await serve(t)
  const { publish, units, spend, hub, advance } = server
  await publish('old')
  for (const { name, open } of bidiClients(t, server)) {
    advance(600)
    const stream = open()
    await stream.has(1)
    spend('request', units('request') - 1)
    stream.update({ id: 1, adds: { old: 0 } })
    await stream.has(2)
    stream.update({ id: 2, removes: ['old'] })
    await stream.has(3)
    advance(1)
    t.equal(units('request'), 0, `${name}: its read has been paid for`)
    advance(1)
    stream.update({ id: 3, adds: { old: 0 } })
    await stream.has(5)
    t.same(stream.received.slice(3), ['Applied 3: 1 topics, target 1', 'old 1'])
    t.equal(units('request'), 0, 'the target is paid for, and the read was')
    stream.leave()
    await until(() => hub.size === 0)
  }
})

/** Whoever follows topics by SubscribeStatic or Subscribe, and goes on from what it has received. */
const follower = (open: (cursors: Record<string, number>) => Subscriber, topics: readonly string[]) => {
  const cursors: Record<string, number> = Object.fromEntries(topics.map((topic) => [topic, 0]))
  const seen: string[] = []
  let stream: Subscriber | undefined
  let read = 0
  const catchUp = () => {
    for (; stream !== undefined && read < stream.received.length; read++) {
      const [topic, id] = stream.received[read]!.split(' ')
      if (topic === 'Started' || topic === 'Applied') continue
      seen.push(stream.received[read]!)
      cursors[topic!] = Number(id)
    }
  }
  return {
    seen,
    catchUp,
    reopen: () => {
      catchUp()
      stream?.leave()
      read = 0
      stream = open({ ...cursors })
      return stream
    },
    leave: () => stream?.leave(),
    get stream() {
      return stream
    },
  }
}

t.test('a stream that is cut and reopened from its cursors misses nothing and repeats nothing', async (t) => {
  const server = await serve(t)
  const { clients, publish, units, spend, hub, advance, store } = server
  const names = ['x', 'y', 'z']
  const step = fc.oneof(
    fc.record({ do: fc.constant('publish' as const), topics: fc.array(fc.nat(2), { minLength: 1, maxLength: 130 }) }),
    fc.constant({ do: 'cut' as const }),
    fc.constant({ do: 'exhaust' as const }),
    fc.record({ do: fc.constant('advance' as const), ms: fc.nat(3000) }),
    fc.record({ do: fc.constant('turn' as const), times: fc.nat(8) }),
  )
  const bidi = bidiClients(t, server)
  const kinds = [
    ...streaming(clients)
      .filter(({ name }) => /^Connect JSON|gRPC/.test(name))
      .map(
        ({ backend }) =>
          (cursors: Record<string, number>) =>
            watch(backend, cursors),
      ),
    ...bidi.map(({ open }) => (adds: Record<string, number>) => {
      const stream = open()
      stream.update({ adds })
      return stream
    }),
  ]
  let run = 0
  const property = fc.asyncProperty(
    fc.nat(kinds.length - 1),
    fc.array(step, { maxLength: 25 }),
    async (kind, steps) => {
      advance(600)
      run++
      const topics = names.map((name) => `${name}${run}`)
      const { seen, catchUp, reopen, leave } = follower(kinds[kind]!, topics)
      let stream = reopen()
      const ended = async () => {
        const error = await stream.outcome
        // Whatever ended it, its replacement comes when the delay of the rejection has passed.
        const retry = error?.details[1] as { retryDelayMs: number } | undefined
        if (retry === undefined) throw new Error(`${error?.code}: ${error?.message}`)
        advance(retry.retryDelayMs / 1000)
        stream = reopen()
      }
      // The server's patience with a client that does not read is of the clock that is advanced, and the client reads in real time.
      const isEnded = (withinMs = 1) => Promise.race([stream.outcome.then(() => true), setTimeout(withinMs, false)])
      for (const each of steps) {
        if (each.do === 'publish') await publish(...each.topics.map((i) => topics[i]!))
        else if (each.do === 'advance') advance(each.ms / 1000)
        else if (each.do === 'exhaust') spend('request', units('request'))
        else if (each.do === 'turn') for (let i = 0; i < each.times; i++) await turn()
        else if (await isEnded()) await ended()
        else {
          await stream.has(1)
          advance(59.5)
          spend('stream_rent', units('stream_rent'))
          advance(60)
          spend('stream_rent', units('stream_rent'))
          advance(0.5)
          if (await isEnded(1000)) await ended()
        }
      }
      const all = topics.flatMap((topic) =>
        store.history(topic, 0n, 100_000).map(({ sequenceId }) => `${topic} ${sequenceId}`),
      )
      const giveUpAt = performance.now() + 10_000
      while (seen.length < all.length && performance.now() < giveUpAt) {
        if (await isEnded()) await ended()
        advance(0.25)
        await turn()
        catchUp()
      }
      for (const topic of topics) {
        const of = (list: readonly string[]) => list.filter((item) => item.startsWith(`${topic} `)).join()
        if (of(seen) !== of(all)) throw new Error(`${topic}: saw ${of(seen)}, published ${of(all)}`)
      }
      // grpc-js keeps a call open that is cancelled before it has begun.
      await stream.has(1)
      leave()
      await until(() => hub.size === 0)
    },
  )
  await fc.assert(property, { numRuns: 60 })
  t.ok(run >= 60)
})

t.test('clients that leave, at whatever point, leave no registration behind', async (t) => {
  const server = await serve(t, { request: 10_000, stream_rent: 10_000 })
  const { clients, hub, publish, clock, spend, units, advance } = server
  await publish(...repeat('a', 500))
  const openers = [
    ...streaming(clients).map(
      ({ backend }) =>
        () =>
          watch(backend, { a: 0, b: 0 }),
    ),
    ...bidiClients(t, server).map(({ open }) => () => {
      const stream = open()
      stream.update({ adds: { a: 0, b: 0 } })
      stream.update({ adds: topicsFrom(0, 50) })
      return stream
    }),
  ]
  for (const open of openers) {
    for (let turns = 0; turns < 12; turns++) {
      const stream = open()
      // grpc-js keeps a call open that is cancelled before it has begun.
      if (open === openers.at(-1)) await stream.has(1)
      for (let i = 0; i < turns; i++) await turn()
      stream.leave()
      await stream.outcome
    }
    const stream = open()
    await stream.has(1)
    stream.leave()
  }
  await until(() => hub.size === 0 && clock.scheduled === 0)

  t.comment('while a read waits')
  for (const open of openers) {
    advance(600)
    spend('request', units('request') - 3)
    const stream = open()
    await stream.has(2)
    spend('request', units('request'))
    stream.leave()
    await until(() => hub.size === 0 && clock.scheduled === 0)
  }
  t.equal(hub.size, 0)
  t.equal(hub.topics, 0)
})

/** SubscribeStatic as one reads it by hand, no faster than one asks: what `take` returns is the next message. */
const readByHand = async (url: string, topic: string) => {
  const message = toBinary(SubscribeStaticRequestSchema, create(SubscribeStaticRequestSchema, { topics: [{ topic }] }))
  const call = request(`${url}/${SERVICE}/SubscribeStatic`, {
    method: 'POST',
    headers: { 'content-type': 'application/connect+proto' },
  })
  call.end(Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]))
  const [response] = (await once(call, 'response')) as [IncomingMessage]
  const chunks = response[Symbol.asyncIterator]()
  let rest = Buffer.alloc(0)
  const bytes = async (count: number) => {
    const parts = [rest]
    for (let length = rest.length; length < count; length += parts.at(-1)!.length) {
      parts.push((await chunks.next()).value)
    }
    const all = Buffer.concat(parts)
    rest = all.subarray(count)
    return all.subarray(0, count)
  }
  return {
    leave: () => call.destroy(),
    take: async () => {
      const length = (await bytes(5)).readUInt32BE(1)
      const { event } = fromBinary(SubscribeStaticResponseSchema, await bytes(length))
      return event.case === 'messages' ? event.value.envelopes.map(({ sequenceId }) => Number(sequenceId)) : []
    },
  }
}

t.test('a client that does not read is kept as a cursor, and catches up by reads that it pays', async (t) => {
  const server = await serve(t, { request: 1000 })
  const { clients, hub, units, publisher, publish, urls } = server
  const before = units('request')
  const fast = watch(clients.find(({ name }) => name === 'gRPC, h2c')!.backend, { a: 0 })
  await fast.has(1)
  const slow = await readByHand(urls.http, 'a')
  await until(() => hub.size === 2 && before - units('request') === 4)
  const text = 'x'.repeat(60_000)
  for (let i = 0; i < 15; i++) {
    await publisher.publish({ envelopes: Array.from({ length: 60 }, () => message('a', text)) })
    await fast.has(1 + 60 * (i + 1))
  }
  t.equal(before - units('request'), 4, 'live delivery is free')
  const read = units('request')
  const idle = await readByHand(urls.http, 'a')
  for (let i = 0; i < 500; i++) await turn()
  const ahead = read - units('request') - 1
  t.ok(ahead >= 1 && ahead <= 3, `${ahead} pages of history, of 9: no more is read than the connection takes`)
  idle.leave()
  await until(() => hub.size === 2)
  const paid = units('request')

  const received: number[] = []
  while (received.length < 900) received.push(...(await slow.take()))
  t.same(
    received,
    Array.from({ length: 900 }, (_, i) => i + 1),
  )
  const reads = paid - units('request')
  t.ok(reads >= 4 && reads <= 8, `${reads} reads of 100, for what is beyond 8 MiB and what the connection took`)
  await publish('a')
  t.same(await slow.take(), [901])
  t.equal(paid - units('request'), reads, 'live again')
  slow.leave()
  fast.leave()
  await until(() => hub.size === 0)
})

t.test('a server that closes ends its streams', async (t) => {
  const server = await serve(t)
  const { clients, hub } = server
  const open = [
    ...streaming(clients).map(({ backend }) => watch(backend, { a: 0 })),
    ...bidiClients(t, server).map(({ open }) => open()),
  ]
  for (const stream of open) await stream.has(1)
  await server.close()
  for (const stream of open) t.equal((await stream.outcome)?.code, 'unavailable')
  t.equal(hub.size, 0)
  t.equal(hub.topics, 0)
})

t.test('RATE-030, in real time: periods of a second, until the rent is spent', async (t) => {
  const rent = { count: 3, windowSeconds: 3600 }
  const limiter = createLimiter({ rateLimits: { ...limits({}), categories: { stream_rent: { default: [rent] } } } })
  const { clients } = await start(t, {}, { limiter, streams: { periodSeconds: 1, rentOf: () => 1 } })
  const stream = watch(clients[0]!.backend, {})
  await stream.has(1)
  const started = performance.now()
  const { code, message } = (await stream.outcome)!
  t.equal(code, 'resource_exhausted')
  t.match(message, 'category stream_rent')
  t.ok(performance.now() - started > 2950, 'three periods were paid')
  t.equal(limiter.remaining(LOOPBACK, 'stream_rent')[0]!.units, 0)
})
