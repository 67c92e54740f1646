import t from 'tap'
import { apiKey, limiterOf, second } from '../support/limiter-of.ts'
import { story } from '../support/story.ts'

const caller = apiKey('one caller')

t.test('case 1, RATE-020: 7 per 60 s, one by one, rounds each spend down to a whole nanosecond', async (t) => {
  const seven = Array.from({ length: 7 }, () => ['0 s', 1, 'admitted'] as const)
  story(t, '7/60', [
    ...seven,
    ['0 s', 1, 'denied 8572 ms'],
    ['8.571 s', 1, 'denied 1 ms'],
    ['8.571_428_568 s', 1, 'denied 1 ms'],
    ['8.572 s', 1, 'admitted'],
  ])
  story(t, '7/60', [...seven, ['8.571_428_568 s', 1, 'denied 1 ms'], ['8.571_428_569 s', 1, 'admitted']])
  story(t, '7/60', [...seven, ['59.999_999_996 s', 8, 'denied 1 ms'], ['59.999_999_997 s', 8, 'admitted']])
  story(t, '7/60', [...seven, ['59.999_999_996 s', 7, 'denied 1 ms'], ['59.999_999_997 s', 7, 'admitted']])
})

t.test('case 1, RATE-020: 7 per 60 s, all at once, is earned back at exactly 60 s', async (t) => {
  story(t, '7/60', [
    ['0 s', 7, 'admitted'],
    ['0 s', 1, 'denied 8572 ms'],
    ['59.999_999_999 s', 8, 'denied 1 ms'],
    ['60 s', 8, 'admitted'],
  ])
})

t.test('case 1, RATE-020: 11 per 60 s admits 11 one by one, and no twelfth', async (t) => {
  const eleven = Array.from({ length: 11 }, () => ['0 s', 1, 'admitted'] as const)
  story(t, '11/60', [...eleven, ['0 s', 1, 'denied 5455 ms'], ['5.455 s', 1, 'admitted']])
  story(t, '11/60', [...eleven, ['59.999_999_993 s', 12, 'denied 1 ms'], ['59.999_999_994 s', 12, 'admitted']])
})

t.test(
  'case 2, RATE-020 RATE-024: a spend larger than a count waits for everything before it, and is then owed whole',
  async (t) => {
    story(t, '10/60, 100/3600', [
      ['0 s', 20, 'admitted'],
      ['1 s', 1, 'denied 65000 ms'],
      ['1 s', 20, 'denied 119000 ms'],
      ['65.999_999_999 s', 1, 'denied 1 ms'],
      ['66 s', 1, 'admitted'],
      ['125.999 s', 20, 'denied 1 ms'],
      ['126 s', 20, 'admitted'],
    ])
    story(t, '10/60, 100/3600', [
      ['0 s', 150, 'admitted'],
      ['0 s', 1, 'denied 1836000 ms'],
      ['846 s', 1, 'denied 990000 ms'],
      ['1_835.999_999_999 s', 1, 'denied 1 ms'],
      ['1_836 s', 1, 'admitted'],
    ])
  },
)

t.test('case 3, RATE-020 RATE-022: a spend that one limit denies charges no other', async (t) => {
  story(t, '2/60, 3/3600', [
    ['0 s', 1, 'admitted'],
    ['0 s', 1, 'admitted'],
    ['0 s', 1, 'denied 30000 ms'],
    ['30 s', 1, 'admitted'],
    ['30 s', 1, 'denied 1170000 ms'],
    ['1_199.999_999_999 s', 1, 'denied 1 ms'],
    ['1_200 s', 1, 'admitted'],
  ])
})

t.test('RATE-022: a thousand denied spends delay nothing', async (t) => {
  story(t, '1/60, 2/3600', [
    ['0 s', 1, 'admitted'],
    ...Array.from({ length: 1000 }, () => ['0 s', 1, 'denied 60000 ms'] as const),
    ['60 s', 1, 'admitted'],
    ...Array.from({ length: 1000 }, () => ['60 s', 2, 'denied 3540000 ms'] as const),
    ['3_600 s', 2, 'admitted'],
  ])
})

t.test('RATE-020: a spend of 0 is admitted and charges nothing, however much is owed', async (t) => {
  story(t, '3/60', [
    ['0 s', 0, 'admitted'],
    ['0 s', 30, 'admitted'],
    ['0 s', 0, 'admitted'],
    ['600 s', 4, 'admitted'],
  ])
  const { limiter } = limiterOf('3/60')
  limiter.spend(caller, 'work', 0)
  t.same(limiter.remaining(caller, 'work'), [
    { bound: 'caller', limit: { count: 3, windowSeconds: 60 }, units: 3, fullInMs: 0 },
  ])
})

t.test(
  'RATE-024: the limit named is the first exceeded as declared, the delay the longest over all exceeded',
  async (t) => {
    for (const [limits, named] of [
      ['10/60, 100/3600', { count: 10, windowSeconds: 60 }],
      ['100/3600, 10/60', { count: 100, windowSeconds: 3600 }],
    ] as const) {
      const { limiter } = limiterOf(limits)
      limiter.spend(caller, 'work', 150)
      const result = limiter.spend(caller, 'work', 1)
      t.match(result, { admitted: false, denial: { category: 'work', limit: named, retryDelayMs: 1_836_000 } }, limits)
    }
    const { limiter } = limiterOf('100/3600, 10/60')
    limiter.spend(caller, 'work', 10)
    t.match(
      limiter.spend(caller, 'work', 1),
      { admitted: false, denial: { limit: { count: 10, windowSeconds: 60 }, retryDelayMs: 6000 } },
      'a limit that is not exceeded is not named',
    )
  },
)

t.test('RATE-024: a charge in one category does not show in another', async (t) => {
  const { limiter } = limiterOf('1/60')
  t.equal(limiter.spend(caller, 'work', 1).admitted, true)
  t.equal(limiter.spend(caller, 'request', 6000).admitted, true)
  t.match(limiter.spend(caller, 'request', 1), { admitted: false, denial: { category: 'request', retryDelayMs: 10 } })
  t.match(limiter.spend(caller, 'work', 1), { admitted: false, denial: { category: 'work', retryDelayMs: 60_000 } })
})

t.test('RATE-052: a spend is kept for its whole window, to the nanosecond, however long that is', async (t) => {
  story(t, '1/8640000', [
    ['0 s', 1, 'admitted'],
    ['8_639_999.999_999_999 s', 1, 'denied 1 ms'],
    ['8_640_000 s', 1, 'admitted'],
  ])
  for (const limits of ['1/1, 2/8640000', '2/8640000, 1/1']) {
    story(t, limits, [
      ['0 s', 1, 'admitted'],
      ['2 s', 1, 'admitted'],
      ['4 s', 1, 'denied 4319996000 ms'],
      ['4_320_000 s', 1, 'admitted'],
    ])
  }
})

t.test('remaining: what would be admitted now under each limit, and when all is earned back', async (t) => {
  const { clock, limiter } = limiterOf('10/60, 100/3600')
  const [minute, hour] = [
    { count: 10, windowSeconds: 60 },
    { count: 100, windowSeconds: 3600 },
  ]
  const remaining = () => limiter.remaining(caller, 'work')
  t.same(remaining(), [
    { bound: 'caller', limit: minute, units: 10, fullInMs: 0 },
    { bound: 'caller', limit: hour, units: 100, fullInMs: 0 },
  ])
  limiter.spend(caller, 'work', 4)
  t.same(remaining(), [
    { bound: 'caller', limit: minute, units: 6, fullInMs: 24_000 },
    { bound: 'caller', limit: hour, units: 96, fullInMs: 144_000 },
  ])
  clock.advance(6n * second - 1n)
  t.same(remaining(), [
    { bound: 'caller', limit: minute, units: 6, fullInMs: 18_001 },
    { bound: 'caller', limit: hour, units: 96, fullInMs: 138_001 },
  ])
  clock.advance(1n)
  t.same(remaining(), [
    { bound: 'caller', limit: minute, units: 7, fullInMs: 18_000 },
    { bound: 'caller', limit: hour, units: 96, fullInMs: 138_000 },
  ])
  clock.advance(138n * second)
  limiter.spend(caller, 'work', 250)
  t.same(
    remaining(),
    [
      { bound: 'caller', limit: minute, units: 0, fullInMs: 1_500_000 },
      { bound: 'caller', limit: hour, units: 0, fullInMs: 9_000_000 },
    ],
    'never negative',
  )
})
