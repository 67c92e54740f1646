import t from 'tap'
import type { Clock, ManualClock } from '../../src/index.ts'
import { endOf, type Spend, streamWorld } from '../support/stream-world.ts'

const rentAt = (...spends: [seconds: number, units: number][]): Spend[] =>
  spends.map(([seconds, units]) => [seconds, 'stream_rent', units])

/** A clock whose timers run only when they are told to, `wake`. */
const lateTimers = () => {
  const waiting = new Set<() => void>()
  const clockOf = (clock: ManualClock): Clock => ({
    now: clock.now,
    wall: clock.wall,
    schedule(_at, run) {
      waiting.add(run)
      return () => waiting.delete(run)
    },
  })
  const wake = () => {
    const due = [...waiting]
    waiting.clear()
    for (const run of due) run()
  }
  return { clockOf, wake, waiting }
}

t.test('case 6: opening owes 1, 2 and 3 for 0, 1000 and 1001 topics, and each later period the same', async (t) => {
  for (const [topics, rent] of [
    [0, 1],
    [1000, 2],
    [1001, 3],
  ] as const) {
    const { open, advance } = streamWorld()
    const { host } = open(topics)
    t.same(host.spends, rentAt([0, rent]))
    advance(59.999)
    t.equal(host.spends.length, 1, 'not a moment early')
    advance(0.001)
    advance(60)
    t.same(host.spends, rentAt([0, rent], [60, rent], [120, rent]))
    const paid = host.spends.reduce((sum, [, , units]) => sum + units, 0)
    t.equal(paid, 3 * rent, `${topics} topics: ${paid} in all`)
  }
})

t.test('case 7: periods that a late timer missed are separate spends, and the next is on the grid', async (t) => {
  const { clockOf, wake } = lateTimers()
  const { open, advance } = streamWorld({ clockOf })
  advance(1.5)
  const { host } = open(1000)
  advance(195)
  t.same(host.spends, rentAt([1.5, 2]))
  wake()
  t.same(host.spends, rentAt([1.5, 2], [196.5, 2], [196.5, 2], [196.5, 2]))
  advance(44.999)
  wake()
  t.equal(host.spends.length, 4, 'a timer that comes too early changes nothing')
  advance(0.001)
  wake()
  t.same(host.spends.at(-1), [241.5, 'stream_rent', 2], 'open + 4 × 60 s')
})

t.test('case 7: several streams pay what they missed in the order in which it fell due', async (t) => {
  const { clockOf, wake } = lateTimers()
  const { open, advance } = streamWorld({ clockOf })
  const order: string[] = []
  const named = (name: string, topics: number) => {
    const { host } = open(topics)
    const spend = host.spend.bind(host)
    host.spend = (...args) => {
      order.push(name)
      return spend(...args)
    }
  }
  named('a', 1)
  advance(10)
  named('b', 1)
  advance(20)
  named('c', 1)
  // a fell due at 60 and 120, b at 70 and 130, c at 90
  advance(105)
  wake()
  t.same(order, ['a', 'b', 'c', 'a', 'b'])
  advance(15)
  wake()
  t.same(order.slice(5), ['c'], 'at 150')
})

t.test('RATE-030: a period pays for the topics at its beginning, whatever was held before', async (t) => {
  const { open, advance } = streamWorld()
  const { host, stream } = open(5001)
  await stream.update(0)
  advance(60)
  await stream.update(1000)
  advance(60)
  t.same(host.spends, rentAt([0, 7], [60, 1], [60, 1], [120, 2]))
})

t.test(
  'RATE-031: an update after its period ended pays that of the new period first, however late the timer',
  async (t) => {
    const { clockOf, wake } = lateTimers()
    const { open, advance } = streamWorld({ clockOf })
    const { host, stream } = open(0)
    await stream.update(5001)
    await stream.update(0)
    advance(61)
    await stream.update(1000)
    t.same(host.spends, rentAt([0, 1], [0, 6], [61, 1], [61, 1]))
    wake()
    t.equal(host.spends.length, 4)
  },
)

t.test('RATE-030: a period that began before the end is paid, however late the timer; none after it is', async (t) => {
  for (const end of ['end', 'abort', 'close'] as const) {
    const { clockOf, wake, waiting } = lateTimers()
    const { open, advance, streams } = streamWorld({ clockOf })
    const { host, stream } = open(0)
    advance(61)
    if (end === 'end') stream.end()
    else if (end === 'abort') host.controller.abort()
    else streams.close(new Error('closing'))
    t.same(host.spends, rentAt([0, 1], [61, 1]), end)
    t.equal(waiting.size, 0)
    advance(1000)
    wake()
    t.equal(host.spends.length, 2)
  }
})

t.test('RATE-032: a period that is not admitted ends the stream with the delay of its rent', async (t) => {
  const { open, advance, spend, clock } = streamWorld({ limits: { stream_rent: '120/60', request: '60/60' } })
  const { host, stream } = open(1001)
  const other = open(0)
  t.same(spend('stream_rent', 116), { admitted: true })
  advance(59)
  t.same(spend('stream_rent', 118), { admitted: true })
  advance(1)
  t.match(endOf(stream), { category: 'stream_rent', retryDelayMs: 500 })
  t.same(host.failures, [endOf(stream)], 'the response fails with the same error')
  t.same(host.spends, rentAt([0, 3]))
  t.equal(endOf(other.stream), 'open', 'a stream that still could pay goes on')
  t.same(other.host.spends, rentAt([0, 1], [60, 1]))
  other.stream.end()
  t.equal(clock.scheduled, 0)
})

t.test('RATE-032: the streams behind one that is denied pay at the same moment', async (t) => {
  const { open, advance } = streamWorld({ limits: { stream_rent: '10/60', request: '60/60' } })
  const [a, b, c] = [open(3001), open(1001), open(1)] as const
  advance(59.9)
  t.same(open(0).host.spends, rentAt([59.9, 1]))
  advance(0.1)
  t.match(endOf(a.stream), 'open')
  t.match(endOf(b.stream), 'open')
  t.match(endOf(c.stream), { retryDelayMs: 6000 })
})

t.test('a clock that goes back stands still', async (t) => {
  let nowNs = 100_000_000_000n
  const { clockOf, wake } = lateTimers()
  const { open } = streamWorld({ clockOf: (manual) => ({ ...clockOf(manual), now: () => nowNs }) })
  open(0).stream.end()
  nowNs = 1n
  const { host, stream } = open(0)
  nowNs = 159_999_999_999n
  wake()
  await stream.update(0)
  t.equal(host.spends.length, 1, 'it opened at 100 s')
  nowNs = 160_000_000_000n
  wake()
  t.equal(host.spends.length, 2)
})

t.test('one timer for all streams, none when the last has ended', async (t) => {
  const { open, clock, advance } = streamWorld()
  const all = Array.from({ length: 50 }, () => {
    advance(0.25)
    return open(1)
  })
  t.equal(clock.scheduled, 1)
  for (const { stream } of all.slice(0, 49)) stream.end()
  t.equal(clock.scheduled, 1)
  advance(300)
  t.equal(all[49]!.host.spends.length, 6)
  t.ok(all.slice(0, 49).every(({ host }) => host.spends.length === 1))
  all[49]!.host.controller.abort()
  t.equal(clock.scheduled, 0)
})

t.test('what a stream does while another pays does no harm', async (t) => {
  const { open, advance, clock } = streamWorld({ limits: { stream_rent: '4/60', request: '60/60' } })
  const [a, b] = [open(1), open(1)] as const
  const opened: ReturnType<typeof open>[] = []
  a.stream.signal.addEventListener('abort', () => {
    b.stream.end()
    opened.push(open(0))
  })
  advance(59)
  open(1001).stream.end()
  advance(1)
  t.match(endOf(a.stream), { category: 'stream_rent' })
  t.match(endOf(b.stream), { category: 'stream_rent' }, 'its period had begun, too')
  advance(600)
  t.same(
    opened.map(({ host }) => host.spends.length),
    [11],
  )
  for (const { stream } of opened) stream.end()
  t.equal(clock.scheduled, 0)
})
