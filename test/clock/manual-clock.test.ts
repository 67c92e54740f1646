import t from 'tap'
import { manualClock } from '../../src/index.ts'

t.test('manualClock runs what falls due, in order, each at its own instant', async (t) => {
  const clock = manualClock(100n)
  const ran: [string, bigint][] = []
  const run = (name: string) => () => ran.push([name, clock.now()])
  clock.schedule(130n, run('later'))
  clock.schedule(110n, run('first'))
  clock.schedule(130n, run('later, and after the other'))
  clock.schedule(131n, run('not yet'))

  clock.advance(30n)
  t.same(ran, [
    ['first', 110n],
    ['later', 130n],
    ['later, and after the other', 130n],
  ])
  t.equal(clock.scheduled, 1)
  clock.advance(1n)
  t.same(ran.at(-1), ['not yet', 131n])
})

t.test('manualClock runs what a run schedules, when it falls due by then', async (t) => {
  const clock = manualClock()
  const ran: bigint[] = []
  const every = (period: bigint) => {
    clock.schedule(clock.now() + period, () => {
      ran.push(clock.now())
      every(period)
    })
  }
  every(60n)
  clock.advance(200n)
  t.same(ran, [60n, 120n, 180n])
  t.equal(clock.now(), 200n)
})

t.test('manualClock: what is past runs at the next advance, what is cancelled never', async (t) => {
  const clock = manualClock(50n)
  let ran = 0
  clock.schedule(10n, () => ran++)
  const cancel = clock.schedule(60n, () => ran++)
  t.equal(ran, 0, 'not while it is scheduled')
  cancel()
  cancel()
  clock.advance(0n)
  t.equal(ran, 1)
  t.equal(clock.now(), 50n)
  clock.advance(100n)
  t.equal(ran, 1)
})

t.test('manualClock: wall time starts where it is told and moves along', async (t) => {
  const clock = manualClock(7n, Date.UTC(2026, 0, 1))
  t.equal(clock.wall(), Date.UTC(2026, 0, 1))
  clock.advance(1_500_999_999n)
  t.equal(clock.wall(), Date.UTC(2026, 0, 1) + 1500)
  t.throws(() => clock.advance(-1n), new RangeError('advance: nanoseconds must be 0n or more, got -1n'))
})
