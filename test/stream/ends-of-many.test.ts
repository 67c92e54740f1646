import t from 'tap'
import { settled, streamWorld } from '../support/stream-world.ts'

t.test('RATE-030: a stream that opens while others are overdue leaves all on their grid', async (t) => {
  const { clock, open, streams } = streamWorld()
  const a = open(0)
  clock.advance(59_000_000_000n)
  const b = open(0)
  clock.advance(61_500_000_000n)
  const c = open(0)
  clock.advance(180_000_000_000n)
  t.same(
    a.host.spends.map(([at]) => at),
    [0, 60, 120, 180, 240, 300],
  )
  t.same(
    b.host.spends.map(([at]) => at),
    [59, 119, 179, 239, 299],
  )
  t.same(
    c.host.spends.map(([at]) => at),
    [120.5, 180.5, 240.5, 300.5],
  )
  streams.close(new Error('closed'))
  t.equal(clock.scheduled, 0)
})

t.test('RATE-030: also when the timer itself is late', async (t) => {
  // A clock whose timers never run: only what is done to streams settles what is due.
  const { clock, open } = streamWorld({ clockOf: (real) => ({ ...real, now: real.now, schedule: () => () => {} }) })
  const a = open(0)
  const opened = []
  for (let i = 0; i < 10; i++) {
    clock.advance(60_100_000_000n)
    opened.push(open(0))
  }
  t.equal(a.host.spends.length, 11, 'ten periods, each paid when another opened')
  clock.advance(59_000_000_000n)
  await a.stream.update(0)
  t.equal(a.host.spends.length, 12)
  for (const [i, { stream, host }] of opened.entries()) {
    stream.end()
    t.equal(host.spends.length, 10 - i, `that of period ${i + 1}`)
  }
})

t.test('thousands of streams that are denied at once end, each once, whatever their listeners do', async (t) => {
  const { clock, open, spend, streams } = streamWorld({ limits: { stream_rent: '3000/60', request: '1/60' } })
  const all = Array.from({ length: 3000 }, () => open(0))
  for (const { stream } of all) stream.signal.addEventListener('abort', () => stream.end())
  clock.advance(59_999_000_000n)
  spend('stream_rent', 2999)
  clock.advance(1_000_000n)
  t.ok(all.filter(({ stream }) => stream.signal.aborted).length > 2900)
  for (const { host } of all) t.ok(host.failures.length <= 1)
  streams.close(new Error('closed'))
  t.ok(all.every(({ stream }) => stream.signal.aborted))
  t.equal(clock.scheduled, 0)
})

t.test('a stream that is ended by whoever is told of its denial still ends its response', async (t) => {
  const world = streamWorld({ limits: { stream_rent: '2/60', request: '1/60' } })
  const { clock, open, host, spend } = world
  const told = host()
  const { stream } = open(0, told)
  const original = told.spend.bind(told)
  told.spend = (...spend) => {
    const denial = original(...spend)
    if (denial !== undefined) stream.end()
    return denial
  }
  clock.advance(59_000_000_000n)
  spend('stream_rent', 2)
  clock.advance(1_000_000_000n)
  t.equal(told.failures.length, 1)
  t.equal(clock.scheduled, 0)
})

t.test('RATE-033: nor does a read that is denied then leave a timer', async (t) => {
  const { clock, open, host, spend } = streamWorld({ limits: { stream_rent: '100/60', request: '1/60' } })
  const told = host()
  const { stream } = open(0, told)
  spend('request', 1)
  const original = told.spend.bind(told)
  told.spend = (...spend) => {
    const denial = original(...spend)
    if (denial !== undefined) stream.end()
    return denial
  }
  await t.rejects(stream.catchUp(() => t.fail('read')))
  t.equal(clock.scheduled, 0)
})

t.test('a read that never ends does not outlive its stream', async (t) => {
  const { open } = streamWorld()
  const { stream } = open(0)
  const read = stream.catchUp(() => new Promise(() => {}))
  await settled()
  stream.end()
  await t.rejects(read, { name: 'AbortError' })
})

t.test('a mistake in an update is told to the developer, the end of the stream is not', async (t) => {
  const { open } = streamWorld({ rentOf: (topics) => (topics === 7 ? 1.5 : 1) })
  const { stream, host } = open(0)
  await t.rejects(stream.update(-1), RangeError)
  await t.rejects(stream.update(7), RangeError)
  t.equal(host.reports.length, 2)
  stream.end()
  await t.rejects(stream.update(1))
  t.equal(host.reports.length, 2)
})

t.test('no more streams are open than there may be, and one too many is charged nothing', async (t) => {
  const { open, host, advance, streams } = streamWorld({ maxOpen: 2, limits: { stream_rent: '3/60', request: '1/60' } })
  const first = open(0)
  open(0)
  const third = host()
  t.throws(() => open(0, third), { message: 'full' })
  t.equal(third.tries, 0)
  first.stream.end()
  first.stream.end()
  open(0)
  t.throws(() => open(0), { message: 'full' })
  advance(60)
  t.throws(() => open(0), { message: 'full' }, 'also after they have paid again')
  streams.close(new Error('closed'))
})
