import t from 'tap'
import { endOf, settled, streamWorld } from '../support/stream-world.ts'

const limits = { stream_rent: '120/60', request: '2/60' } as const

t.test('RATE-033: a read is paid for, then made', async (t) => {
  const { open } = streamWorld({ limits })
  const { host, stream } = open(0)
  const reads: number[] = []
  const read = stream.catchUp(async () => reads.push(host.spends.length))
  t.same(host.spends.at(-1), [0, 'request', 1])
  t.same(reads, [], 'in a turn of its own')
  t.equal(await read, 1)
  t.same(reads, [2])
  t.equal(await stream.catchUp(() => 'at once'), 'at once')
})

t.test('RATE-033: a read that is denied waits for the retry delay, and the stream stays open', async (t) => {
  const { open, spend, advance, clock } = streamWorld({ limits })
  const { host, stream } = open(0)
  spend('request', 2)
  let made = 0
  const read = stream.catchUp(() => ++made)
  t.equal(host.tries, 2)
  await stream.update(1000)
  advance(29.999)
  await settled()
  t.equal(host.tries, 3, 'not tried before the delay')
  t.equal(made, 0)
  t.equal(endOf(stream), 'open')
  spend('request', 1)
  advance(0.001)
  t.equal(host.tries, 4)
  t.equal(await read, 1)
  t.same(host.spends.at(-1), [30, 'request', 1])
  t.equal(clock.scheduled, 1, 'but for the rent')
})

t.test('RATE-033: a read that is denied again waits again', async (t) => {
  const { open, spend, advance } = streamWorld({ limits })
  const { host, stream } = open(0)
  spend('request', 2)
  const read = stream.catchUp(() => 'read')
  advance(30)
  await settled()
  t.equal(await read, 'read')
  const next = stream.catchUp(() => 'next')
  const tries = host.tries
  advance(29)
  t.equal(host.tries, tries)
  advance(0.999)
  t.equal(host.tries, tries)
  advance(0.001)
  t.equal(await next, 'next')

  const last = stream.catchUp(() => 'last')
  advance(29.5)
  advance(0.5)
  t.equal(await last, 'last')
})

t.test('RATE-033: reads of one stream wait in turn behind one try', async (t) => {
  const { open, spend, advance, clock } = streamWorld({ limits })
  const { host, stream } = open(0)
  spend('request', 2)
  const made: string[] = []
  const all = ['a', 'b', 'c', 'd'].map((name) => stream.catchUp(() => made.push(name)))
  t.equal(host.tries, 2, 'one try for all four')
  t.equal(clock.scheduled, 2)
  advance(30)
  await settled()
  t.same(made, ['a'])
  t.equal(host.tries, 4, 'one is admitted, the next is denied')
  advance(30)
  await settled()
  t.same(made, ['a', 'b'])
  advance(60)
  await Promise.all(all)
  t.same(made, ['a', 'b', 'c', 'd'])
})

t.test('RATE-033: somebody else may have spent it meanwhile', async (t) => {
  const { open, spend, clock, advance } = streamWorld({ limits })
  const { host, stream } = open(0)
  spend('request', 2)
  // due at the same moment as the read is tried again, and set before it
  clock.schedule(30_000_000_000n, () => spend('request', 1))
  let made = 0
  const read = stream.catchUp(() => ++made)
  advance(30)
  await settled()
  t.equal(made, 0)
  t.equal(host.tries, 3)
  advance(30)
  t.equal(await read, 1)
})

t.test('a denial that cannot say how long is tried again after a second', async (t) => {
  const { open, host, advance } = streamWorld({ limits })
  const vague = host()
  const spend = vague.spend.bind(vague)
  let denials = 2
  vague.spend = (category, ...units) => {
    if (category === 'rent' || denials-- === 0) return spend(category, ...units)
    vague.tries++
    return { error: new Error('denied'), retryDelayMs: null }
  }
  const read = open(0, vague).stream.catchUp(() => 'read')
  advance(0.999)
  t.equal(vague.tries, 2)
  advance(0.001)
  t.equal(vague.tries, 3)
  advance(1)
  t.equal(await read, 'read')
})

t.test('reads that wait are rejected when the stream ends, and leave no timer', async (t) => {
  const { open, spend, clock } = streamWorld({ limits })
  const { host, stream } = open(0)
  spend('request', 2)
  const waiting = [stream.catchUp(() => t.fail('read')), stream.catchUp(() => t.fail('read'))]
  const reason = new Error('client gone')
  host.controller.abort(reason)
  for (const each of waiting) await t.rejects(each, reason)
  t.equal(clock.scheduled, 0)
})

t.test('a read that is made while the stream ends is rejected, what it found belongs to nobody', async (t) => {
  const { open } = streamWorld({ limits })
  const { stream } = open(0)
  let finish = () => {}
  const read = stream.catchUp(() => new Promise<void>((resolve) => (finish = resolve)))
  const unmade = stream.catchUp(() => t.pass('made'))
  await settled()
  await unmade
  stream.end()
  finish()
  await t.rejects(read, { name: 'AbortError' })
})

t.test('a read whose stream ends before its turn of the event loop is not made', async (t) => {
  const { open } = streamWorld({ limits })
  const { stream } = open(0)
  const read = stream.catchUp(() => t.fail('read'))
  stream.end()
  await t.rejects(read, { name: 'AbortError' })
})

t.test('what a read throws comes out; the stream stays open', async (t) => {
  const { open } = streamWorld({ limits })
  const { stream } = open(0)
  await t.rejects(
    stream.catchUp(() => {
      throw new Error('no store')
    }),
    { message: 'no store' },
  )
  await t.rejects(
    stream.catchUp(async () => {
      throw new Error('no store')
    }),
    { message: 'no store' },
  )
  t.equal(endOf(stream), 'open')
})
