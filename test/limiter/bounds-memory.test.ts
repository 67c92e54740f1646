import t from 'tap'
import { type BoundOptions, createLimiter, type LimiterOptions, manualClock } from '../../src/index.ts'
import { boundsLimiter, perMinute, type Req } from '../support/bounds-limiter.ts'
import { apiKey } from '../support/limiter-of.ts'

const mib = 2 ** 20
const windows = (maxKeys: number): BoundOptions<Req>[] => [
  { name: 'b', per: 'user', limits: [{ kind: 'sliding_window', count: 3, windowSeconds: 60 }], maxKeys },
]

t.test('RATE-050: what does not fit fails at the start, with its path and the numbers', async (t) => {
  const log = { kind: 'sliding_log', count: 100_000, windowSeconds: 60 } as const
  const rows: [LimiterOptions, string, RegExp][] = [
    [
      { bounds: [...windows(1), { name: 'c', per: 'user', limits: [log], maxKeys: 10 }] },
      'bounds[1]',
      /needs 27\.\d\d MiB, and 7\.\d\d MiB are left/,
    ],
    [
      { holds: [{ name: 'h', per: 'user', count: 1, retryDelaySeconds: 1, maxKeys: 1_000_000 }] },
      'holds[0]',
      /needs \d\d\.\d\d MiB/,
    ],
    [
      { rateLimits: { categories: { request: { ip: [log] } } } },
      'rateLimits.categories.request',
      /needs \d+\.\d\d MiB/,
    ],
    [
      {
        rateLimits: {
          overrides: [
            { caller: apiKey('a'), categories: { request: [log] } },
            { caller: apiKey('b'), categories: { request: [{ ...log, count: 1_000_000 }] } },
          ],
        },
      },
      'rateLimits.overrides[1].categories.request',
      /needs 22\.\d\d MiB, and 5\.\d\d MiB are left/,
    ],
  ]
  for (const [{ rateLimits, ...options }, path, message] of rows) {
    const make = () => createLimiter({ rateLimits: { maxMemoryMib: 8, ...rateLimits }, ...options })
    t.throws(make, { code: 'ALLOWANCE_OPTIONS', path, message })
  }
  t.ok(createLimiter({ bounds: windows(100_000) }), 'as much fits into the default')
})

t.test('RATE-050: the bytes of the table and all bounds together never pass maxMemoryMib', async (t) => {
  const take = (limiter: ReturnType<typeof createLimiter>) => {
    const sets = []
    try {
      for (;;) sets.push(limiter.bounds(windows(1000)))
    } catch (error) {
      t.match(error, { code: 'ALLOWANCE_OPTIONS', path: 'bounds[0]' })
    }
    return sets
  }
  for (const [maxMemoryMib, boundsMemoryMib] of [
    [1, 0],
    [1, 1],
    [4, 0],
    [4, 2],
    [4, 4],
  ] as const) {
    const limiter = createLimiter({ rateLimits: { maxMemoryMib, boundsMemoryMib }, clock: manualClock() })
    const before = take(limiter)
    limiter.spend(apiKey('a'), 'request', 1)
    const { bytes, slots } = limiter.stats()
    const what = `${maxMemoryMib} MiB, ${boundsMemoryMib} kept`
    t.ok(bytes <= maxMemoryMib * mib && slots * 40 >= 2 ** 16 - 400, `${what}: ${bytes} bytes, ${slots} slots`)
    const after = take(limiter)
    t.ok(limiter.stats().bytes <= maxMemoryMib * mib)
    t.equal(limiter.stats().slots, slots, 'the table stays')
    t.equal(after.length, 0, 'all was taken before')

    for (const set of [...before, ...after]) set.dispose()
    t.ok(limiter.stats().bytes <= slots * 40 + 400, 'all is given back')
    t.equal(take(limiter).length, before.length + after.length, 'and can be taken again')
  }
})

t.test('what is kept for bounds is there for them before the first spend and after it', async (t) => {
  const rateLimits = { maxMemoryMib: 4, boundsMemoryMib: 3 }
  const before = createLimiter({ rateLimits })
  const after = createLimiter({ rateLimits })
  after.spend(apiKey('a'), 'request', 1)
  for (const limiter of [before, after]) {
    let sets = 0
    t.throws(() => {
      for (; ; sets++) limiter.bounds(windows(10_000))
    }, /must fit into rateLimits\.boundsMemoryMib: needs 0\.\d\d MiB, and 0\.\d\d MiB are left/)
    t.ok(sets >= 3, `${sets} sets`)
  }
})

t.test('a bound for everyone takes 320 bytes, and an error about so little speaks of bytes', async (t) => {
  const limiter = createLimiter({ rateLimits: { maxMemoryMib: 2, boundsMemoryMib: 1 } })
  limiter.spend(apiKey('a'), 'request', 1)
  const make = () => limiter.bounds([{ name: 'all', per: 'everyone', limits: perMinute(1) }])
  const before = limiter.stats().bytes
  const first = make()
  t.equal(limiter.stats().bytes - before, 320)
  let sets = 1
  t.throws(() => {
    for (; ; sets++) make()
  }, /must fit into rateLimits\.boundsMemoryMib: needs 320 bytes, and \d{1,3} bytes are left/)
  t.equal(sets, Math.floor(mib / 320))
  first.dispose()
  make()
})

t.test('a disposed set is no use, and gives its memory back once', async (t) => {
  const { limiter } = boundsLimiter({})
  const before = limiter.bounds(windows(1000))
  const bytes = () => limiter.stats().bytes
  const with1 = bytes()
  before.dispose()
  const without = bytes()
  before.dispose()
  t.equal(bytes(), without)
  t.ok(with1 - without > 60_000)
  const who = limiter.resolve(apiKey('a'), { user: 'u' })
  const id = limiter.categoryId('request')
  t.throws(() => limiter.accounts.of(who, id, [before]), /under bounds that were disposed of/)
})

t.test('a set of bounds has counters of its own, and those of another with the same names are apart', async (t) => {
  for (const limits of [perMinute(1), [{ kind: 'sliding_log', count: 1, windowSeconds: 60 } as const]]) {
    const { limiter } = boundsLimiter({ rateLimits: { boundsMemoryMib: 4 } })
    const make = () => limiter.bounds([{ name: 'b', per: 'everyone', limits }])
    const id = limiter.categoryId('request')
    const spend = (...sets: ReturnType<typeof make>[]) =>
      limiter.spendFrom(limiter.accounts.of(limiter.resolve(apiKey('a')), id, sets), id, 1)
    const [one, other] = [make(), make()]
    t.equal(spend(one), undefined)
    t.match(spend(one), { bound: 'b' })
    t.match(spend(other, one), { bound: 'b' }, 'all must admit')
    t.equal(spend(other), undefined, 'a denial charged nothing')
    one.dispose()
    t.equal(spend(make()), undefined, 'a new one begins anew')
    t.equal(spend(), undefined)
  }
  const { limiter } = boundsLimiter({})
  t.throws(() => limiter.bounds([{ name: 'b', per: 'everyone', category: 'wrok', limits: [] }]), {
    code: 'ALLOWANCE_OPTIONS',
    path: 'bounds[0].category',
  })
})

t.test('forgotten keys are counted also of sets that were disposed of', async (t) => {
  const { limiter } = boundsLimiter({ bounds: windows(2) })
  const set = limiter.bounds(windows(1))
  const id = limiter.categoryId('request')
  for (const user of ['u', 'v', 'w']) {
    const who = limiter.resolve(apiKey('a'), { user })
    limiter.spendFrom(limiter.accounts.of(who, id, [set]), id, 1)
  }
  t.equal(limiter.stats().forgotten, 3)
  set.dispose()
  t.equal(limiter.stats().forgotten, 3)
})

t.test('share: the keys beyond maxKeys share one counter, neither refused outright nor let through', async (t) => {
  const { limiter, advance } = boundsLimiter({
    bounds: [{ ...windows(2)[0]!, limits: perMinute(3), overflow: 'share' }],
  })
  const spend = (user: string) => limiter.spend(limiter.resolve(apiKey('a'), { user }), 'request', 1)
  const admitted = (users: string) => [...users].map((user) => (spend(user).admitted ? user : '-')).join('')
  t.equal(admitted('aabc'), 'aabc')
  t.equal(admitted('defg'), 'de--', 'c, d and e have spent the three of all others')
  t.match(spend('h'), { denial: { bound: 'b', retryDelayMs: 20_000 } })
  t.equal(admitted('aabbb'), 'a-bb-', 'a and b have three each')
  advance(20)
  t.equal(admitted('hi'), 'h-')
  advance(60)
  t.equal(admitted('xxxxyyyyzzzzw'), 'xxx-yyy-zzz--', 'who has earned everything back makes room')
  t.equal(limiter.stats().forgotten, 0)
})

t.test('forget: the key that is idle soonest goes, and is counted', async (t) => {
  const { limiter, advance } = boundsLimiter({ bounds: [{ ...windows(2)[0]!, limits: perMinute(3) }] })
  const spend = (user: string, cost: number) =>
    limiter.spend(limiter.resolve(apiKey('a'), { user }), 'request', cost).admitted
  const left = (user: string) => limiter.remaining(limiter.resolve(apiKey('a'), { user }), 'request')[0]!.units
  spend('a', 3)
  spend('b', 1)
  t.same([left('a'), left('b'), left('c')], [0, 2, 3])
  t.ok(spend('c', 2))
  t.same([left('a'), left('b'), left('c')], [0, 3, 1])
  t.equal(limiter.stats().forgotten, 1)
  advance(40)
  t.ok(spend('d', 1), 'c is idle by now')
  t.same([left('a'), left('c'), left('d')], [2, 3, 2])
  t.equal(limiter.stats().forgotten, 1)
})

t.test('forget: where all keys hold something, those beyond share one counter', async (t) => {
  const { limiter } = boundsLimiter({ bounds: [{ ...windows(2)[0]!, limits: perMinute(3) }] })
  const as = (user: string) => limiter.resolve(apiKey('a'), { user })
  const held = ['a', 'b'].map((user) => limiter.reserve(as(user), 'request', 2))
  t.same(
    ['c', 'd', 'e', 'c'].map((user) => limiter.spend(as(user), 'request', 1).admitted),
    [true, true, true, false],
  )
  t.same(
    ['a', 'b', 'c'].map((user) => limiter.remaining(as(user), 'request')[0]!.units),
    [1, 1, 0],
  )
  t.equal(limiter.stats().forgotten, 0)
  for (const made of held) if (made.admitted) made.reservation.release()
  t.ok(limiter.spend(as('c'), 'request', 3).admitted, 'has a record of its own now')
  t.same(
    ['a', 'b'].map((user) => limiter.remaining(as(user), 'request')[0]!.units),
    [3, 3],
  )
})

t.test('an epoch that nobody can tell the end of frees its keys when it is over', async (t) => {
  for (const overflow of ['share', 'forget'] as const) {
    let epoch = 1
    const limits = [{ kind: 'epoch', count: 2, epoch: () => epoch } as const]
    const { limiter } = boundsLimiter({ bounds: [{ ...windows(3)[0]!, limits, overflow }] })
    const spend = (user: string) => limiter.spend(limiter.resolve(apiKey('a'), { user }), 'request', 2).admitted
    t.same(['a', 'b', 'c', 'd'].map(spend), [true, true, true, true])
    t.equal(spend('e'), overflow === 'forget')
    const { forgotten } = limiter.stats()
    epoch += 1
    t.same(['f', 'g', 'h'].map(spend), [true, true, true])
    t.same(['f', 'g', 'h'].map(spend), [false, false, false])
    t.equal(limiter.stats().forgotten, forgotten)
  }
})

t.test('an epoch that lasts longer than was said loses nothing', async (t) => {
  const limits = [{ kind: 'epoch', count: 2, epoch: () => 1, nextEpochInMs: () => 1000 } as const]
  const { limiter, advance } = boundsLimiter({ bounds: [{ ...windows(2)[0]!, limits, overflow: 'share' }] })
  const as = (user: string) => limiter.resolve(apiKey('a'), { user })
  const spend = (user: string) => limiter.spend(as(user), 'request', 1).admitted
  spend('a')
  const made = limiter.reserve(as('a'), 'request', 1)
  spend('b')
  advance(100)
  if (made.admitted) made.reservation.release()
  t.same(['c', 'c', 'c'].map(spend), [true, true, false], 'shares what is left')
  t.same(['a', 'a', 'b', 'b'].map(spend), [true, false, true, false])
})

t.test(
  'RATE-050 RATE-051: open reservations take no memory beside the table, and are never more than they say',
  async (t) => {
    const limiter = createLimiter({
      rateLimits: { maxMemoryMib: 1, categories: { work: { default: perMinute(5) } } },
      clock: manualClock(),
    })
    const left = (name: string) => limiter.remaining(apiKey(name), 'work')[0]!.units
    const bytes = limiter.stats().bytes
    const { slots } = limiter.stats()
    const open = Array.from({ length: 2 * slots }, (_, i) => limiter.reserve(apiKey(`${i}`), 'work', 2))
    t.ok(
      open.every(({ admitted }) => admitted),
      'nobody is denied for want of room',
    )
    t.equal(limiter.stats().bytes, bytes)
    t.ok(limiter.stats().forgotten >= slots, 'those beyond are forgotten, and counted as that')
    const units = open.map((_, i) => left(`${i}`))
    t.ok(units.every((one) => one === 3 || one === 5))
    t.equal(units.filter((one) => one === 3).length, 2 * slots - limiter.stats().forgotten)
    for (const made of open) if (made.admitted) made.reservation.release()
    t.ok(open.every((_, i) => left(`${i}`) === 5))
    t.ok(limiter.spend(apiKey('0'), 'work', 5).admitted)
    t.equal(left('0'), 0)
  },
)

t.test('RATE-051: a flood of fresh callers does not push out what is held', async (t) => {
  const limiter = createLimiter({
    rateLimits: { maxMemoryMib: 1, categories: { work: { default: perMinute(5) } } },
    clock: manualClock(),
  })
  const held = Array.from({ length: 100 }, (_, i) => limiter.reserve(apiKey(`held ${i}`), 'work', 2))
  for (let i = 0; i < 2 * limiter.stats().slots; i++) limiter.spend(apiKey(`${i}`), 'work', 5)
  t.ok(held.every((_, i) => limiter.remaining(apiKey(`held ${i}`), 'work')[0]!.units === 3))
})
