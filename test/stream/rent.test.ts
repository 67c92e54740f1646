import t from 'tap'
import { defaultRentOf, rentFor } from '../../src/stream/rent.ts'
import { streamWorld } from '../support/stream-world.ts'

t.test('RATE-030: the rent is 1 + ceil(topics / 1000), exactly, however many topics', async (t) => {
  const most = Number.MAX_SAFE_INTEGER
  const model = (topics: number) => Number(1n + (BigInt(topics) + 999n) / 1000n)
  for (const topics of [0, 1, 999, 1000, 1001, 2000, 2001, 5000, 5001, 999_999_001, most - 991, most - 990, most]) {
    t.equal(defaultRentOf(topics), model(topics), `${topics} topics`)
  }
})

t.test('a number of topics, or a rent, that is no whole number is refused by name and charges nothing', async (t) => {
  for (const topics of [-1, 1.5, Number.NaN, 2 ** 53, '5' as never, undefined as never]) {
    t.throws(() => rentFor(defaultRentOf, topics), {
      name: 'RangeError',
      message: `topics must be a whole number from 0 to 2^53 - 1, got ${String(topics)}`,
    })
  }
  for (const rent of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, '1' as never]) {
    t.throws(() => rentFor(() => rent, 7), {
      name: 'RangeError',
      message: `streams.rentOf must return a whole number from 0 to 2^53 - 1, returned ${String(rent)} for 7 topics`,
    })
  }
  const { open, host, clock, advance } = streamWorld()
  const none = host()
  t.throws(() => open(-1, none), RangeError)
  t.same(none.tries, 0)
  t.equal(clock.scheduled, 0)

  const { stream, host: payer } = open(1)
  await t.rejects(stream.update(0.5), RangeError)
  t.equal(stream.topics, 1)
  t.notOk(stream.signal.aborted, 'the stream stays open')
  advance(60)
  t.same(payer.spends, [
    [0, 'stream_rent', 2],
    [60, 'stream_rent', 2],
  ])
})
