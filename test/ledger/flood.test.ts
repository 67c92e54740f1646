import t from 'tap'
import { createLimiter, manualClock } from '../../src/index.ts'
import { apiKey, limiterOf, limitsOf, second } from '../support/limiter-of.ts'
import { heldBytes } from '../support/process-memory.ts'

type Limiter = ReturnType<typeof createLimiter>

/** One spend by each of `count` callers never seen before; how many of them were denied. */
const flood = (limiter: Limiter, name: string, count: number, cost = 1, category = 'work'): number => {
  let denied = 0
  for (let i = 0; i < count; i++) if (!limiter.spend(apiKey(`${name} ${i}`), category, cost).admitted) denied++
  return denied
}

const remembered = (limiter: Limiter, name: string, count: number, category = 'work'): number => {
  let found = 0
  for (let i = 0; i < count; i++) {
    if (limiter.remaining(apiKey(`${name} ${i}`), category).some(({ fullInMs }) => fullInMs! > 0)) found++
  }
  return found
}

t.test(
  'RATE-050: the table is allocated once, within its bound, and a flood makes neither it nor the process grow',
  async (t) => {
    const { limiter } = limiterOf('1/3600')
    flood(limiter, 'warm up', 5000)
    const before = { ...limiter.stats() }
    t.ok(before.bytes <= 2 ** 20 && before.bytes > 2 ** 19, `${before.bytes} bytes of 1 MiB`)
    t.ok(before.slots >= 8192, `${before.slots} slots`)
    const held = heldBytes()
    t.equal(flood(limiter, 'flood', 200_000), 0, 'and nobody is denied for it')
    const heldAfter = heldBytes()
    const { slots, bytes } = limiter.stats()
    t.same({ slots, bytes }, { slots: before.slots, bytes: before.bytes })
    t.ok(
      heldAfter.arrayBuffers - held.arrayBuffers < 2 ** 17,
      `array buffers grew by ${heldAfter.arrayBuffers - held.arrayBuffers}`,
    )
    t.ok(heldAfter.heap - held.heap < 2 ** 21, `the heap grew by ${heldAfter.heap - held.heap}`)
  },
)

t.test('RATE-050: more memory has more slots, and never more bytes than allowed', async (t) => {
  let slots = 0
  const alive: Limiter[] = [] // one that is collected meanwhile would hide what the next one takes
  for (const maxMemoryMib of [1, 2, 3, 64]) {
    const before = heldBytes()
    const limiter = createLimiter({ rateLimits: { maxMemoryMib }, clock: manualClock(0n) })
    alive.push(limiter)
    const stats = limiter.stats()
    const allocated = heldBytes().arrayBuffers - before.arrayBuffers
    t.ok(stats.bytes <= maxMemoryMib * 2 ** 20, `${stats.bytes} bytes of ${maxMemoryMib} MiB`)
    t.ok(allocated <= maxMemoryMib * 2 ** 20 + 2 ** 16, `${allocated} bytes really allocated of ${maxMemoryMib} MiB`)
    t.ok(stats.slots >= slots && stats.slots * 128 >= stats.bytes, `${stats.slots} slots`)
    slots = stats.slots
  }
  for (const limiter of alive) t.equal(limiter.stats().forgotten, 0)
})

t.test('RATE-051: a flood denies nobody, forgets what does not fit, and counts it', async (t) => {
  const { limiter } = limiterOf('2/3600')
  const count = 60_000
  t.equal(flood(limiter, 'flood', count, 2), 0, 'every first spend is admitted')
  const { slots, forgotten } = limiter.stats()
  const kept = remembered(limiter, 'flood', count)
  t.equal(forgotten, count - kept, 'forgotten counts each one')
  t.ok(kept <= slots, `${kept} callers in ${slots} slots`)
  t.ok(kept > slots * 0.9, 'the table is used nearly whole before anyone who owes is forgotten twice over')
})

for (const [limits, retryDelayMs] of [
  ['100/3600', 36_000],
  ['100/3600, 50/1', 36_000],
  ['50/1, 100/3600', 36_000],
  ['100/3', 30],
  ['100/1, 100/3', 30],
  ['100/3, 300/1', 30],
] as const) {
  t.test(`RATE-051: the caller earned back latest is forgotten last (${limits})`, async (t) => {
    const { limiter } = limiterOf(limits)
    const heavy = Array.from({ length: 20 }, (_, i) => limiter.resolve(apiKey(`heavy ${i}`)))
    for (const caller of heavy) t.equal(limiter.spend(caller, 'work', 100).admitted, true)
    t.equal(flood(limiter, 'light', 200_000), 0)
    t.ok(limiter.stats().forgotten > 100_000)
    for (const caller of heavy) {
      t.match(limiter.spend(caller, 'work', 1), { admitted: false, denial: { retryDelayMs } }, 'still denied')
    }
  })
}

t.test('RATE-051: what counts is when all is earned back, not who came first, last or spent last', async (t) => {
  const { limiter, clock } = limiterOf('1000/3600')
  const early = limiter.resolve(apiKey('early'))
  limiter.spend(early, 'work', 900)
  clock.advance(1800n * second)
  t.equal(flood(limiter, 'light', 100_000, 100), 0)
  const late = limiter.resolve(apiKey('late'))
  limiter.spend(late, 'work', 900)
  t.equal(flood(limiter, 'lighter', 100_000, 100), 0)
  t.match(limiter.remaining(early, 'work'), [{ units: 600, fullInMs: 1_440_000 }])
  t.match(limiter.remaining(late, 'work'), [{ units: 100, fullInMs: 3_240_000 }])
})

t.test('RATE-051: callers that owe little take each other’s slots, not those of callers that owe much', async (t) => {
  const { limiter } = limiterOf('100/3600')
  const heavy = 60_000
  flood(limiter, 'heavy', heavy, 90)
  const { slots } = limiter.stats()
  flood(limiter, 'light', 100_000, 1)
  const kept = remembered(limiter, 'heavy', heavy)
  t.ok(kept >= slots / 2, `${kept} of ${slots} slots are still the heavy callers’`)
  const before = limiter.stats().forgotten
  t.equal(flood(limiter, 'lighter still', 100_000, 1), 0)
  t.equal(remembered(limiter, 'heavy', heavy), kept, 'a second flood forgets not one of them')
  t.equal(limiter.stats().forgotten, before + 100_000, 'but exactly one light caller for each that comes')
})

t.test('RATE-051: the few who owe most outlast heavy floods of callers who owe any amount', async (t) => {
  const { limiter } = limiterOf('1000000/3600')
  const count = 80_000
  // Amounts spread without order: a multiplier that is prime to 80,000 visits each once.
  const costOf = (i: number) => 1 + ((i * 30_011) % count)
  for (let i = 0; i < count; i++) limiter.spend(apiKey(`caller ${i}`), 'work', costOf(i))
  const { slots } = limiter.stats()
  const few = Math.floor(slots / 400)
  let kept = 0
  for (let i = 0; i < count; i++) {
    if (costOf(i) > count - few && limiter.remaining(apiKey(`caller ${i}`), 'work')[0]?.units === 1_000_000 - costOf(i))
      kept++
  }
  t.ok(few >= 20)
  t.equal(kept, few)
})

t.test('RATE-052: a caller whose spends are all earned back takes no room', async (t) => {
  const { limiter, clock } = limiterOf('10/10, 100/3600')
  t.equal(flood(limiter, 'first', 100_000, 1), 0)
  t.ok(limiter.stats().forgotten > 0)
  clock.advance(36n * second)
  const before = limiter.stats().forgotten
  const owing = limiter.resolve(apiKey('owing'))
  limiter.spend(owing, 'work', 100)
  const wave = Math.floor(limiter.stats().slots / 100)
  let late = 0
  for (let i = 0; i < 90; i++) {
    t.equal(flood(limiter, `wave ${i}`, wave, 1), 0)
    clock.advance(36n * second - 1n)
    if (remembered(limiter, `wave ${i}`, wave) !== wave) late++
    clock.advance(1n)
  }
  t.equal(late, 0, 'each is kept until its own hour is earned back')
  t.equal(limiter.stats().forgotten, before, 'nobody who owes is forgotten')
  t.match(limiter.remaining(owing, 'work'), [{ units: 10 }, { units: 90, fullInMs: 360_000 }])
})

t.test('RATE-051: a slot that changes hands owes only what its new caller owes', async (t) => {
  const clock = manualClock(0n)
  const limiter = createLimiter({
    rateLimits: {
      maxMemoryMib: 1,
      categories: { long: { default: limitsOf('1/1, 1/3600') }, short: { default: limitsOf('1/1') } },
    },
    clock,
  })
  flood(limiter, 'long', 60_000, 1, 'long')
  flood(limiter, 'short', 100_000, 1, 'short')
  const { forgotten } = limiter.stats()
  for (let i = 0; i < 1000; i++) {
    clock.advance(second)
    limiter.spend(apiKey(`a second later ${i}`), 'short', 1)
  }
  t.equal(limiter.stats().forgotten, forgotten)
})

t.test('RATE-051: a flood in one category, or of spends of 0, or of denied spends', async (t) => {
  const limiter = createLimiter({
    rateLimits: {
      maxMemoryMib: 1,
      categories: { work: { default: limitsOf('3/3600') }, play: { default: limitsOf('3/1') } },
    },
    clock: manualClock(0n),
  })
  const caller = limiter.resolve(apiKey('one caller'))
  limiter.spend(caller, 'work', 3)
  limiter.spend(caller, 'play', 3)
  flood(limiter, 'idle', 100_000, 0)
  for (let i = 0; i < 100_000; i++) limiter.spend(caller, 'work', 1)
  t.equal(limiter.stats().forgotten, 0, 'spends of 0 and denied spends are not recorded')
  t.equal(limiter.retryDelay(caller, 'play', 1), 334)
  t.equal(flood(limiter, 'flood', 100_000, 1, 'play'), 0)
  t.equal(limiter.retryDelay(caller, 'work', 3), 3_600_000)
})
