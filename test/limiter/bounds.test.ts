import t from 'tap'
import { callerKey } from '../../src/caller/key.ts'
import type { BoundOptions, Denial, Limiter, Reservation, ResolveContext, SpendResult } from '../../src/index.ts'
import { boundsLimiter, perMinute, type Req } from '../support/bounds-limiter.ts'
import { address, apiKey, jwt } from '../support/limiter-of.ts'

type Admitted = { admitted: true; reservation: Reservation }
type Who = readonly [Parameters<Limiter['resolve']>[0], ResolveContext?]

const a: Who = [apiKey('a')]

/** Whether each in turn is admitted, for one unit. */
const admitted = (limiter: Limiter, who: readonly Who[], category = 'request') =>
  who.map(([caller, context]) => limiter.spend(limiter.resolve(caller, context), category, 1).admitted)

const deniedBy = (limiter: Limiter, [caller, context]: Who, cost = 1, category = 'request'): Denial | undefined => {
  const result = limiter.spend(limiter.resolve(caller, context), category, cost)
  return result.admitted ? undefined : result.denial
}

// Of each row, under one unit a minute: the first two count as one, the others apart from them and from one another.
const apart: Record<string, { per: BoundOptions<Req>['per']; one: [Who, Who]; others: Who[] }> = {
  caller: {
    per: 'caller',
    one: [a, [apiKey('a'), { user: 'u' }]],
    others: [[jwt('', 'a')], [jwt('i', 'a')], [address('192.0.2.1')]],
  },
  address: {
    per: 'address',
    one: [
      [apiKey('a'), { address: '2001:db8::1' }],
      [apiKey('b'), { address: '2001:DB8:0::0001' }],
    ],
    others: [
      [apiKey('a'), { address: '2001:db8::2' }],
      [apiKey('a'), { address: '192.0.2.1' }],
      [apiKey('a'), { address: 'unix' }],
    ],
  },
  'address, of an IPv4-mapped one': {
    per: 'address',
    one: [[apiKey('a'), { address: '::ffff:192.0.2.1' }], [address('192.0.2.1')]],
    others: [[address('192.0.2.2')], [address('unix')]],
  },
  subnet: {
    per: 'subnet',
    one: [[apiKey('a'), { address: '2001:db8::1' }], [address('2001:db8::ffff:ffff:ffff:ffff')]],
    others: [
      [apiKey('a'), { address: '2001:db8:0:1::1' }],
      [apiKey('a'), { address: '192.0.2.1' }],
      [apiKey('a'), { address: '192.0.2.2' }],
    ],
  },
  user: {
    per: 'user',
    one: [
      [apiKey('a'), { user: 'u' }],
      [apiKey('b'), { user: 'u', organisation: 'o' }],
    ],
    others: [[apiKey('a'), { user: '' }], [apiKey('a'), { user: 'v' }], [apiKey('a'), { token: 'u' }], [apiKey('b')]],
  },
  token: {
    per: 'token',
    one: [
      [apiKey('a'), { token: 't' }],
      [apiKey('b'), { token: 't', user: 'u' }],
    ],
    others: [[apiKey('a'), { token: 'u' }], [apiKey('a'), { user: 't' }], [apiKey('b')]],
  },
  organisation: {
    per: 'organisation',
    one: [
      [apiKey('a'), { organisation: 'o' }],
      [apiKey('b'), { organisation: 'o' }],
    ],
    others: [[apiKey('a'), { organisation: 'p' }], [apiKey('a')], [apiKey('b')]],
  },
  route: {
    per: 'route',
    one: [
      [apiKey('a'), { route: 'GET /x' }],
      [apiKey('b'), { route: 'GET /x' }],
    ],
    others: [
      [apiKey('a'), { route: 'POST /x' }],
      [apiKey('a'), { route: '' }],
    ],
  },
  everyone: { per: 'everyone', one: [a, [address('192.0.2.1'), { user: 'u' }]], others: [] },
  'a function': {
    per: ({ sender }) => sender,
    one: [
      [apiKey('a'), { request: { sender: 's' } }],
      [apiKey('b'), { request: { sender: 's' } }],
    ],
    others: [
      [apiKey('a'), { request: { sender: '' } }],
      [apiKey('a'), { request: { sender: 'r' } }],
    ],
  },
}

for (const [name, { per, one, others }] of Object.entries(apart)) {
  t.test(`a bound per ${name} counts apart what differs in it, and nothing else`, async (t) => {
    const kinds: BoundOptions<Req>[] = [
      { name: 'b', per, limits: perMinute(1) },
      { name: 'b', per, limits: [{ kind: 'sliding_log', count: 1, windowSeconds: 60 }] },
      ...(per === 'everyone'
        ? []
        : [{ name: 'b', per, limits: perMinute(1), maxKeys: 10, overflow: 'share' as const }]),
    ]
    for (const bound of kinds) {
      const { limiter } = boundsLimiter({ bounds: [bound] })
      t.same(admitted(limiter, one), [true, false])
      t.same(
        admitted(limiter, others),
        others.map(() => true),
      )
      t.same(
        admitted(limiter, [...others, ...one]),
        [...others, ...one].map(() => false),
        'each has one',
      )
    }
  })
}

for (const per of ['user', 'token', 'organisation'] as const) {
  t.test(`who has no ${per} is counted as the caller, and never as a ${per} that is called like it`, async (t) => {
    const { limiter } = boundsLimiter({ bounds: [{ name: 'b', per, limits: perMinute(1) }] })
    const key = callerKey(apiKey('a'))
    const spelled = ['a', 'c', '', key, `c${key}`, `v${key}`]
    t.same(admitted(limiter, [a, a, [apiKey('b')]]), [true, false, true])
    t.same(
      admitted(
        limiter,
        spelled.map((value) => [apiKey('a'), { [per]: value }]),
      ),
      spelled.map(() => true),
    )
    t.same(admitted(limiter, [a]), [false])
  })
}

t.test('a caller that spends in several bounded categories in turn spends in each what is its own', async (t) => {
  const bounds = ['request', 'work'].map((category, i) => ({
    name: `of-${category}`,
    per: 'user' as const,
    category,
    limits: perMinute(2 + i),
  }))
  const { limiter } = boundsLimiter({ bounds })
  const who = limiter.resolve(apiKey('a'), { user: 'u' })
  const spends = ['work', 'request', 'work', 'request', 'request', 'work', 'work']
  t.same(
    spends.map((category) => limiter.spend(who, category, 1).admitted),
    [true, true, true, true, false, true, false],
  )
})

t.test('what a bound goes by is asked once for each caller that is resolved and each category', async (t) => {
  const asked: string[] = []
  const bounds = ['request', 'work'].map((category) => ({
    name: `of-${category}`,
    per: () => {
      asked.push(category)
      return 'key'
    },
    category,
    limits: perMinute(100),
  }))
  const { limiter } = boundsLimiter({ bounds })
  const who = limiter.resolve(apiKey('a'), { request: {} })
  for (const category of ['work', 'request', 'work', 'request', 'request', 'work']) limiter.spend(who, category, 1)
  t.same(asked, ['work', 'request'])
})

t.test('the first category that is asked of a limiter may be any', async (t) => {
  const limits = { request: perMinute(1), work: perMinute(2) }
  const categories = { request: { default: limits.request }, work: { default: limits.work } }
  for (const first of ['request', 'work'] as const) {
    const { limiter } = boundsLimiter({ bounds: [], rateLimits: { categories } })
    t.same(
      limiter.remaining(apiKey('a'), first).map(({ limit }) => limit),
      limits[first],
      first,
    )
  }
})

t.test('a bound that is not about a request leaves it alone', async (t) => {
  const request: Req = { sender: 's' }
  const bounds: [string, Partial<BoundOptions<Req>>, about: Who, notAbout: Who[]][] = [
    ['per nothing', { per: ({ sender }) => sender }, [apiKey('a'), { request }], [[apiKey('a'), { request: {} }]]],
    [
      'a predicate',
      { appliesTo: ({ sender }) => sender === 's' },
      [apiKey('a'), { request }],
      [[apiKey('a'), { request: {} }]],
    ],
    [
      'roles',
      { appliesTo: { roles: ['admin', 'root'] } },
      [apiKey('a'), { roles: ['user', 'root'] }],
      [a, [apiKey('a'), { roles: [] }], [apiKey('a'), { roles: ['Admin', 'adminroot'] }]],
    ],
    ['auth types', { appliesTo: { authTypes: ['ip', 'jwt'] } }, [jwt('i', 's')], [a]],
    [
      'roles and auth types',
      { appliesTo: { roles: ['admin'], authTypes: ['jwt'] } },
      [jwt('i', 's'), { roles: ['admin'] }],
      [[apiKey('a'), { roles: ['admin'] }], [jwt('i', 's')]],
    ],
  ]
  for (const [name, bound, about, notAbout] of bounds) {
    const { limiter } = boundsLimiter({ bounds: [{ name: 'b', per: 'everyone', limits: perMinute(1), ...bound }] })
    for (const who of notAbout) t.same(admitted(limiter, [who, who, who]), [true, true, true], name)
    t.same(admitted(limiter, [about, about]), [true, false], name)
    for (const who of notAbout) t.same(admitted(limiter, [who]), [true], name)
  }
})

t.test('what a bound goes by and is not known is a TypeError that says so, and charges nothing', async (t) => {
  const rows: [BoundOptions<Req>['per'], Who, RegExp][] = [
    ['address', a, /bound "b" goes by the address, .* limiter\.resolve\(caller, { address }\)/],
    ['address', [address('2001:db8::1')], /goes by the address/],
    ['address', [apiKey('a'), { address: '192.0.2' }], /goes by the address/],
    ['subnet', a, /goes by the address/],
    ['route', a, /goes by the route/],
    [() => 'x', a, /goes by the request/],
    [
      () => 5 as never,
      [apiKey('a'), { request: {} }],
      /must return a string or nothing, returned a value of type number/,
    ],
    [(() => Promise.resolve('x')) as never, [apiKey('a'), { request: {} }], /returned a value of type object/],
  ]
  for (const [per, [caller, context], message] of rows) {
    const { limiter } = boundsLimiter({
      bounds: [
        { name: 'all', per: 'everyone', limits: perMinute(1) },
        { name: 'b', per, limits: perMinute(1) },
      ],
    })
    const resolved = limiter.resolve(caller, context)
    for (const act of ['spend', 'reserve', 'retryDelay'] as const) {
      t.throws(() => limiter[act](resolved, 'request', 1), { name: 'TypeError', message })
    }
    t.throws(() => limiter.remaining(resolved, 'request'), { name: 'TypeError', message })
    const known = limiter.resolve(apiKey('k'), { address: '192.0.2.1', route: 'r', request: {} })
    if (typeof per === 'string') t.ok(limiter.spend(known, 'request', 1).admitted, 'everyone still has one')
  }
})

t.test('what a caller is resolved with is checked, copied, and kept by whoever resolves it again', async (t) => {
  const bounds: BoundOptions<Req>[] = [{ name: 'b', per: 'user', appliesTo: { roles: ['r'] }, limits: perMinute(1) }]
  const { limiter } = boundsLimiter({ bounds })
  t.throws(() => limiter.resolve(apiKey('a'), { user: 5 as never }), { name: 'TypeError', message: /identity\.user/ })
  t.throws(() => limiter.resolve(apiKey('a'), { roles: 'r' as never }), {
    name: 'TypeError',
    message: /identity\.roles/,
  })
  const roles = ['r']
  const context = { user: 'u', roles }
  const resolved = limiter.resolve(apiKey('a'), context)
  context.user = 'v'
  roles.pop()
  t.equal(limiter.resolve(resolved), resolved)
  t.same(admitted(limiter, [[resolved], [apiKey('b'), { user: 'u', roles: ['r'] }]]), [true, false])
  t.same(admitted(limiter, [[resolved, {}]]), [true], 'another context replaces it whole')

  const other = boundsLimiter({ bounds }).limiter
  t.same(admitted(other, [[resolved], [resolved]]), [true, false], 'in another limiter too')
  t.same(Object.keys(resolved), ['type', 'name'])
})

t.test('a bound counts its own category only', async (t) => {
  const { limiter } = boundsLimiter({
    bounds: [
      { name: 'r', per: 'everyone', limits: perMinute(1) },
      { name: 'w', per: 'everyone', category: 'work', limits: perMinute(2) },
    ],
  })
  t.same(admitted(limiter, [a, a, a], 'work'), [true, true, false])
  t.same(admitted(limiter, [a, a]), [true, false])
  t.same(
    limiter.remaining(limiter.resolve(...a), 'publish').map(({ bound }) => bound),
    ['caller', 'caller'],
  )
})

t.test('RATE-022: all bounds must admit, and one spend charges all of them or none', async (t) => {
  const { limiter } = boundsLimiter({
    rateLimits: { categories: { request: { default: perMinute(9) } } },
    bounds: [
      { name: 'u', per: 'user', limits: perMinute(5) },
      { name: 'o', per: 'organisation', limits: [{ kind: 'sliding_window', count: 7, windowSeconds: 60 }] },
      { name: 'e', per: 'everyone', limits: [{ kind: 'sliding_log', count: 8, windowSeconds: 60 }] },
    ],
  })
  const left = (who: Who) =>
    limiter.remaining(limiter.resolve(...who), 'request').map(({ bound, units }) => [bound, units])
  const u: Who = [apiKey('a'), { user: 'u', organisation: 'o' }]
  const v: Who = [apiKey('a'), { user: 'v', organisation: 'o' }]
  const w: Who = [apiKey('b'), { user: 'w', organisation: 'p' }]
  t.equal(deniedBy(limiter, u, 4), undefined)
  t.same(left(u), [
    ['caller', 5],
    ['u', 1],
    ['o', 3],
    ['e', 4],
  ])
  t.equal(deniedBy(limiter, u, 2)?.bound, 'u')
  t.same(
    left(u),
    [
      ['caller', 5],
      ['u', 1],
      ['o', 3],
      ['e', 4],
    ],
    'nothing is charged',
  )
  t.same(left(v), [
    ['caller', 5],
    ['u', 5],
    ['o', 3],
    ['e', 4],
  ])
  t.equal(deniedBy(limiter, v, 4)?.bound, 'o')
  t.equal(deniedBy(limiter, w, 5)?.bound, 'e')
  t.same(left(w), [
    ['caller', 9],
    ['u', 5],
    ['o', 7],
    ['e', 4],
  ])
  t.equal(deniedBy(limiter, w, 4), undefined)
  t.same(left(v), [
    ['caller', 5],
    ['u', 5],
    ['o', 3],
    ['e', 0],
  ])
})

t.test(
  'a denial names the first bound exceeded, lists all, and says the longest delay, or none where one is not known',
  async (t) => {
    let wait: number | null = 90_000
    const epoch = { kind: 'epoch', count: 1, epoch: () => 1, nextEpochInMs: () => wait } as const
    const ten = { count: 1, windowSeconds: 10 }
    const log = { kind: 'sliding_log', count: 1, windowSeconds: 30 } as const
    const { limiter, advance } = boundsLimiter({
      rateLimits: { categories: { request: { default: [{ count: 5, windowSeconds: 10 }] } } },
      bounds: [
        { name: 'free', per: 'everyone', limits: [] },
        { name: 'roomy', per: 'everyone', limits: perMinute(100) },
        { name: 'two', per: 'caller', limits: [ten, log] },
        { name: 'epoch', per: 'everyone', category: 'request', limits: [epoch] },
      ],
    })
    t.equal(deniedBy(limiter, a), undefined)
    advance(1)
    t.match(deniedBy(limiter, a), {
      category: 'request',
      bound: 'two',
      limit: ten,
      retryDelayMs: 90_000,
      exceeded: [
        { bound: 'two', limit: ten, retryDelayMs: 9_000 },
        { bound: 'two', limit: log, retryDelayMs: 29_000 },
        { bound: 'epoch', limit: epoch, retryDelayMs: 90_000 },
      ],
    })
    t.equal(limiter.retryDelay(apiKey('a'), 'request', 1), 90_000)
    wait = null
    t.match(deniedBy(limiter, a), { bound: 'two', limit: ten, retryDelayMs: null })
    t.equal(limiter.retryDelay(apiKey('a'), 'request', 1), null)
    t.match(deniedBy(limiter, a, 6), { bound: 'caller', exceeded: { length: 4 } })
    t.match(deniedBy(limiter, [apiKey('b')]), { bound: 'epoch', retryDelayMs: null, exceeded: { length: 1 } })
    t.same(
      limiter.remaining(apiKey('b'), 'request').map(({ bound, units, fullInMs }) => [bound, units, fullInMs]),
      [
        ['caller', 5, 0],
        ['roomy', 99, 0],
        ['two', 1, 0],
        ['two', 1, 0],
        ['epoch', 0, null],
      ].map((row) => (row[0] === 'roomy' ? ['roomy', 100, 0] : row)),
    )
  },
)

t.test('every kind of limit works in categories, overrides and bounds; blocked is never "not yet"', async (t) => {
  const kinds = {
    sliding_window: { kind: 'sliding_window', count: 2, windowSeconds: 60 },
    sliding_log: { kind: 'sliding_log', count: 2, windowSeconds: 60 },
    epoch: { kind: 'epoch', count: 2, epoch: () => 7 },
    earned_back: { kind: 'earned_back', count: 2, windowSeconds: 60 },
  } as const
  for (const [kind, limit] of Object.entries(kinds)) {
    const limiters = {
      category: boundsLimiter({ rateLimits: { categories: { request: { default: [limit] } } } }),
      override: boundsLimiter({
        rateLimits: { overrides: [{ caller: apiKey('a'), categories: { request: [limit] } }] },
      }),
      bound: boundsLimiter({ bounds: [{ name: 'b', per: 'caller', limits: [limit] }] }),
    }
    for (const [where, { limiter }] of Object.entries(limiters)) {
      t.same(admitted(limiter, [a, a, a]), [true, true, false], `${kind} in ${where}`)
      t.equal(deniedBy(limiter, a)?.bound, where === 'bound' ? 'b' : 'caller')
      t.same(admitted(limiter, [[apiKey('b')]]), [true], 'others are apart')
    }
  }
  const { limiter } = boundsLimiter({
    rateLimits: { overrides: [{ caller: apiKey('a'), categories: { request: [{ kind: 'blocked' }] } }] },
    bounds: [{ name: 'b', per: 'everyone', category: 'work', limits: [{ kind: 'blocked' }, ...perMinute(1)] }],
  })
  t.match(deniedBy(limiter, a), { bound: 'caller', limit: { kind: 'blocked' }, retryDelayMs: null })
  t.same(admitted(limiter, [[apiKey('b')]]), [true])
  t.match(deniedBy(limiter, a, 1, 'work'), { bound: 'b', limit: { kind: 'blocked' }, retryDelayMs: null })
  t.ok(limiter.spend(apiKey('a'), 'work', 0).admitted)
})

t.test(
  'an epoch source that throws, or returns what is none, charges nothing anywhere, at whatever call it does',
  async (t) => {
    for (const fails of ['throws', 'returns nonsense'] as const) {
      for (const act of ['spend', 'reserve'] as const) {
        // The calls after which it fails: while it is weighed, and while it is recorded.
        for (let after = 0; after < 6; after++) {
          let calls = Number.POSITIVE_INFINITY
          const epoch = () => {
            calls -= 1
            if (calls >= 0) return 4
            if (fails === 'throws') throw new Error('no epoch')
            return 0.5
          }
          const { limiter } = boundsLimiter({
            bounds: [
              { name: 'first', per: 'everyone', limits: perMinute(5) },
              { name: 'epoch', per: 'caller', limits: [{ kind: 'epoch', count: 5, epoch }], maxKeys: 2 },
              { name: 'last', per: 'everyone', limits: [{ kind: 'sliding_log', count: 5, windowSeconds: 60 }] },
            ],
          })
          for (const name of ['b', 'c']) limiter.spend(apiKey(name), 'request', 1)
          const left = () => limiter.remaining(apiKey('a'), 'request').map(({ units }) => units)
          t.same(left(), [3, 5, 3])
          calls = after
          let isSpent = true
          try {
            const made = limiter[act](apiKey('a'), 'request', 2) as SpendResult | Admitted
            if (made.admitted && 'reservation' in made) made.reservation.commit()
          } catch {
            isSpent = false
          }
          calls = Number.POSITIVE_INFINITY
          // Where the source fails between the question and the record, nobody knows which epoch that was.
          const epochLeft = after === 0 ? 5 : left()[1]!
          t.ok(epochLeft === 3 || epochLeft === 5)
          t.same(left(), isSpent ? [1, epochLeft, 1] : [3, 5, 3], `${act}: ${fails} after ${after} calls`)
        }
      }
    }
  },
)

t.test('RATE-012: with enabled: false nothing is denied, held or counted', async (t) => {
  const { limiter } = boundsLimiter({
    rateLimits: { enabled: false },
    bounds: [{ name: 'b', per: 'everyone', limits: [{ kind: 'blocked' }] }],
    holds: [{ name: 'h', per: 'everyone', count: 1, retryDelaySeconds: 1 }],
  })
  t.same(admitted(limiter, [a, a]), [true, true])
  for (let i = 0; i < 3; i++) {
    t.match(limiter.hold(apiKey('a'), 'h'), { admitted: true })
    const made = limiter.reserve(apiKey('a'), 'request', 5)
    t.ok(made.admitted && made.reservation.commit())
  }
  t.same(limiter.remaining(apiKey('a'), 'request'), [])
  t.equal(limiter.retryDelay(apiKey('a'), 'request', 1), 0)
})

t.test(
  'appliesTo that returns no boolean is an error that names the bound, and lets nothing pass uncounted',
  async (t) => {
    for (const [answer, type] of [
      ['yes', 'string'],
      [1, 'number'],
      [undefined, 'undefined'],
      [null, 'object'],
      [/a/.exec('a'), 'object'],
      [Promise.resolve(true), 'object'],
    ] as const) {
      const appliesTo = (() => answer) as unknown as () => boolean
      const { limiter } = boundsLimiter({
        bounds: [{ name: 'trial', per: 'everyone', appliesTo, limits: perMinute(1) }],
      })
      const caller = limiter.resolve(apiKey('a'), { request: { sender: 's' } })
      t.throws(() => limiter.spend(caller, 'request', 1), {
        name: 'TypeError',
        message: `bound "trial": appliesTo must return true or false, returned a value of type ${type}`,
      })
    }
  },
)

t.test(
  'bounds and holds that are null are refused, for they limit nothing where a config file means them to',
  async (t) => {
    for (const key of ['bounds', 'holds']) {
      const message = `${key}: must be a list of ${key}, got null`
      const make = () => boundsLimiter({ [key]: null } as never)
      t.throws(make, { message: new RegExp(message) })
      t.doesNotThrow(() => boundsLimiter({ [key]: undefined } as never))
    }
  },
)
