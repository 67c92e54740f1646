import t from 'tap'
import { kindOf } from '../../src/limit/kind.ts'
import { latestNs } from '../support/earned-back-model.ts'
import { second } from '../support/limiter-of.ts'
import { Key } from './kind-contract.ts'

const minute = 60n * second
const timedKinds = ['earned_back', 'sliding_window', 'sliding_log'] as const

t.test('a limit that names no kind is earned back', async (t) => {
  const limit = { count: 1, windowSeconds: 1 }
  t.equal(kindOf(limit), kindOf({ ...limit, kind: 'earned_back' }))
  t.not(kindOf(limit), kindOf({ ...limit, kind: 'sliding_window' }))
})

t.test('case 4: settlement 1 per 10 min is not 3 per 30 min', async (t) => {
  const world = { nowNs: 5n * second }
  const slow = new Key({ kind: 'sliding_log', count: 1, windowSeconds: 600 }, world)
  const bursting = new Key({ kind: 'sliding_log', count: 3, windowSeconds: 1800 }, world)
  t.same([slow.spend(1), slow.spend(1), slow.spend(1)], [true, false, false])
  t.equal(slow.retryDelayMs(1), 600_000)
  t.same([bursting.spend(1), bursting.spend(1), bursting.spend(1), bursting.spend(1)], [true, true, true, false])
  t.equal(bursting.retryDelayMs(1), 1_800_000)
  world.nowNs += 10n * minute
  t.equal(slow.spend(1), true)
  t.equal(bursting.spend(1), false)
  world.nowNs += 20n * minute - 1n
  t.equal(bursting.spend(1), false)
  world.nowNs += 1n
  t.equal(bursting.spend(3), true)
})

t.test('case 4: three spread over the window, the next passes 30 min after the first', async (t) => {
  const world = { nowNs: 0n }
  const key = new Key({ kind: 'sliding_log', count: 3, windowSeconds: 1800 }, world)
  for (let i = 0; i < 3; i++) {
    t.equal(key.spend(1), true)
    world.nowNs += 7n * minute
  }
  t.equal(key.retryDelayMs(1), 9 * 60_000)
  world.nowNs += 9n * minute
  t.equal(key.spend(1), true)
  t.equal(key.retryDelayMs(1), 7 * 60_000)
})

t.test('case 7: 100/PT1M, 100 at the end of one minute and 100 at the start of the next do not all pass', async (t) => {
  for (const kind of timedKinds) {
    const world = { nowNs: minute - second }
    const key = new Key({ kind, count: 100, windowSeconds: 60 }, world)
    let passed = 0
    for (let i = 0; i < 100; i++) if (key.spend(1)) passed += 1
    t.equal(passed, 100, kind)
    world.nowNs += second
    passed = 0
    for (let i = 0; i < 100; i++) if (key.spend(1)) passed += 1
    t.equal(passed, kind === 'earned_back' ? 1 : 0, kind)
  }
})

t.test(
  'RATE-020: a spend above the count fits where nothing is owed and nothing is held, and holds all others off',
  async (t) => {
    const world = { nowNs: 0n }
    const key = new Key({ count: 10, windowSeconds: 60 }, world)
    t.equal(key.fits(25, 1), false)
    t.equal(key.retryDelayMs(25, 1), null)
    t.equal(key.fits(25), true)
    key.held.push(25)
    t.equal(key.fits(1), false)
    t.equal(key.retryDelayMs(1), null)
    t.equal(key.remainingUnits(), 0)
    key.held.length = 0
    key.record(25)
    t.equal(key.retryDelayMs(1), 96_000)
    t.equal(key.fullInMs(), 150_000)
  },
)

t.test('where more is recorded than fits, a limit that is earned back counts all of it, exactly', async (t) => {
  const world = { nowNs: 1n }
  const key = new Key({ count: 1, windowSeconds: 8_639_999 }, world)
  for (let i = 0; i < 10; i++) {
    key.record(1)
    world.nowNs += 1n
  }
  // All is back 10 windows after the first was recorded, 1 ns after the start.
  world.nowNs = second + 1n
  t.equal(key.fullInMs(), 86_399_989_000)
  world.nowNs -= 1n
  t.equal(key.fullInMs(), 86_399_989_001)
  key.record(Number.MAX_SAFE_INTEGER)
  t.equal(key.fullInMs(), 2 ** 34 * 1000 - 1000)
})

t.test('where more is recorded than fits, a sliding window is full', async (t) => {
  const world = { nowNs: 0n }
  const key = new Key({ kind: 'sliding_window', count: 1_000_000_000, windowSeconds: 8_640_000 }, world)
  for (let i = 0; i < 10; i++) key.record(1_000_000_000)
  t.equal(key.remainingUnits(), 0)
  t.equal(key.fullInMs(), 2 * 8_640_000_000)
  world.nowNs = 12_960_000n * second
  t.equal(key.remainingUnits(), 500_000_000)
})

t.test('where time stops nothing counts, and nobody is denied for ever', async (t) => {
  for (const kind of timedKinds) {
    const world = { nowNs: latestNs - 1n }
    const key = new Key({ kind, count: 3, windowSeconds: 60 }, world)
    t.equal(key.spend(3), true)
    t.equal(key.spend(3), false)
    t.equal(key.retryDelayMs(3), 1)
    t.equal(key.fullInMs(), 1)
    world.nowNs = latestNs
    for (let i = 0; i < 5; i++) t.equal(key.spend(3), true)
    t.equal(key.remainingUnits(), 3)
    t.equal(key.fullInMs(), 0)
  }
})
