import { getEventListeners } from 'node:events'
import t from 'tap'
import { endOf, settled, streamWorld } from '../support/stream-world.ts'

t.test('a request that is over opens no stream and is charged nothing', async (t) => {
  const { open, host, clock } = streamWorld()
  const gone = host()
  gone.controller.abort(new Error('client gone'))
  t.throws(() => open(1, gone), { message: 'client gone' })
  t.equal(gone.tries, 0)
  t.equal(clock.scheduled, 0)
})

t.test('a stream whose request is over pays no more, and says why', async (t) => {
  const { open, clock, advance } = streamWorld()
  const { host, stream } = open(1)
  const reason = new Error('client gone')
  host.controller.abort(reason)
  t.equal(clock.scheduled, 0)
  advance(1000)
  t.equal(host.spends.length, 1)
  t.equal(endOf(stream), reason)
  t.same(host.failures, [], 'nobody is left to be told')
  await t.rejects(stream.update(2000), reason)
  await t.rejects(
    stream.catchUp(() => 1),
    reason,
  )
  t.equal(host.tries, 1)
})

t.test('end(): once, quietly', async (t) => {
  const { open, clock } = streamWorld()
  const { host, stream } = open(1)
  const { signal } = stream
  t.equal(getEventListeners(host.signal, 'abort').length, 1)
  stream.end()
  stream.end()
  host.controller.abort(new Error('later'))
  t.same(getEventListeners(host.signal, 'abort'), [])
  t.match(signal.reason, { name: 'AbortError', message: 'the stream has ended' })
  t.same(host.failures, [])
  t.equal(clock.scheduled, 0)
  t.equal(open(1).host.spends.length, 1, 'another can be opened')
})

t.test('closing ends every stream and its response, and none opens after it', async (t) => {
  const { open, streams, clock, host } = streamWorld()
  const all = [open(0), open(1), open(2000)]
  const reason = new Error('closing')
  streams.close(reason)
  for (const { stream, host } of all) {
    t.equal(endOf(stream), reason)
    t.same(host.failures, [reason])
  }
  t.equal(clock.scheduled, 0)
  const late = host()
  t.throws(() => open(0, late), reason)
  t.equal(late.tries, 0)
})

t.test('the end of a stream that its handler no longer looks at is no unhandled rejection', async (t) => {
  const unhandled: unknown[] = []
  const listen = (reason: unknown) => unhandled.push(reason)
  process.on('unhandledRejection', listen)
  t.teardown(() => process.off('unhandledRejection', listen))
  const { open, spend } = streamWorld({ limits: { stream_rent: '2/60', request: '1/60' } })
  const { stream } = open(0)
  spend('request', 1)
  void stream.catchUp(() => 1)
  void stream.update(5000)
  t.ok(stream.signal.aborted)
  void stream.update(1)
  void stream.catchUp(() => 1)
  await settled()
  t.same(unhandled, [])
})
