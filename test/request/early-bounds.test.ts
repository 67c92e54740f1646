import { Code, ConnectError } from '@connectrpc/connect'
import type { FastifyRequest } from 'fastify'
import t from 'tap'
import allowance, {
  type AllowanceOptions,
  type BoundOptions,
  manualClock,
  type RouteAllowance,
} from '../../src/index.ts'
import { perMinute } from '../support/bounds-limiter.ts'
import { apiKey } from '../support/limiter-of.ts'
import { gate, until } from '../support/live-app.ts'
import { createFastify, domain, type Teardown } from '../support/matrix-app.ts'
import { collectGarbage } from '../support/process-memory.ts'

interface Setup extends Partial<Pick<AllowanceOptions, 'identify' | 'onDenied' | 'holds'>> {
  bounds?: AllowanceOptions['bounds']
  categories?: NonNullable<AllowanceOptions['rateLimits']>['categories']
  route?: RouteAllowance
}

const all: BoundOptions<FastifyRequest> = { name: 'all', per: 'everyone', limits: perMinute(3) }

/** An app with one plain route, and what is known before it is asked who calls. */
const boundApp = async (t: Teardown, { bounds = [all], categories, route = {}, ...more }: Setup = {}) => {
  const clock = manualClock()
  const app = createFastify(false)
  t.teardown(() => app.close())
  let asked = 0
  const identify = more.identify ?? (async () => apiKey('a'))
  await app.register(allowance, {
    domain,
    clock,
    ...more,
    rateLimits: { maxMemoryMib: 8, categories: { request: { default: [] }, work: { default: [] }, ...categories } },
    bounds,
    identify: (request) => {
      asked += 1
      return identify(request)
    },
  })
  let handled = 0
  app.get('/', { config: { allowance: route } }, async () => {
    handled += 1
    return 'ok'
  })
  const { limiter } = app.allowance
  const left = (category = 'request', name = 'a') =>
    Object.fromEntries(
      limiter
        .remaining(limiter.resolve(apiKey(name), { address: '127.0.0.1', route: 'GET /', request: {} }), category)
        .map(({ bound, units }) => [bound, units]),
    )
  const get = async () => (await app.inject('/')).statusCode
  return { app, clock, limiter, get, left, asked: () => asked, handled: () => handled }
}

t.test('what needs no identity is charged without asking for one', async (t) => {
  const { get, asked, left } = await boundApp(t)
  t.same([await get(), await get(), await get(), await get()], [200, 200, 200, 429])
  t.equal(asked(), 0)
  t.same(left(), { all: 0 })
})

t.test('an early denial asks nobody who it is', async (t) => {
  const caller: BoundOptions<FastifyRequest> = { name: 'mine', per: 'caller', limits: perMinute(9) }
  const { get, asked, left } = await boundApp(t, { bounds: [caller, all] })
  t.same([await get(), await get(), await get()], [200, 200, 200])
  t.equal(asked(), 3)
  t.same([await get(), await get()], [429, 429])
  t.equal(asked(), 3)
  t.same(left(), { mine: 6, all: 0 })
})

for (const [when, later] of [
  ['at once', (run: () => never) => () => run()],
  ['later', (run: () => never) => () => new Promise(setImmediate).then(run)],
] as const) {
  t.test(`what was charged early is kept when authentication rejects ${when}`, async (t) => {
    const reject = later(() => {
      throw new ConnectError('who?', Code.Unauthenticated)
    })
    const { get, left } = await boundApp(t, { identify: reject, categories: { request: { default: perMinute(9) } } })
    t.same([await get(), await get(), await get(), await get()], [401, 401, 401, 429])
    t.same(left(), { caller: 9, all: 0 })
  })

  t.test(`what was charged early is given back when the later part fails, who is known ${when}`, async (t) => {
    const identify = when === 'at once' ? () => apiKey('a') : async () => apiKey('a')
    let fails = true
    const { get, left, handled } = await boundApp(t, {
      identify,
      bounds: [
        all,
        {
          name: 'mine',
          per: () => {
            if (fails) throw new Error('no key')
            return 'k'
          },
          needsIdentity: true,
          limits: perMinute(9),
        },
      ],
    })
    t.same([await get(), await get(), await get(), await get()], [500, 500, 500, 500])
    fails = false
    t.same(left(), { all: 3, mine: 9 })
    t.equal(await get(), 200)
    t.same(left(), { all: 2, mine: 8 })
    t.equal(handled(), 1)
  })
}

t.test('what was charged early is given back when an early bound after it fails', async (t) => {
  const { get, left } = await boundApp(t, {
    route: { charges: { request: 1, work: 1 } },
    bounds: [
      all,
      {
        name: 'work',
        per: (request) => {
          if (request.headers !== undefined) throw new Error('no key')
          return 'k'
        },
        category: 'work',
        limits: perMinute(9),
      },
    ],
  })
  t.same([await get(), await get(), await get(), await get()], [500, 500, 500, 500])
  t.same(left(), { all: 3 })
})

t.test('what was charged early is given back exactly when a later bound, or the caller’s limits, deny', async (t) => {
  const second: BoundOptions<FastifyRequest> = { name: 'mine', per: 'user', limits: perMinute(1) }
  const log: BoundOptions<FastifyRequest> = {
    name: 'log',
    per: 'address',
    limits: [{ kind: 'sliding_log', count: 5, windowSeconds: 60 }],
  }
  for (const setup of [
    { bounds: [all, log, second] },
    { bounds: [all, log], categories: { request: { default: perMinute(1) } } },
  ]) {
    const denials: string[] = []
    const { get, left } = await boundApp(t, { ...setup, onDenied: ({ bound }) => void denials.push(bound) })
    t.same([await get(), await get(), await get(), await get()], [200, 429, 429, 429])
    t.match(left(), { all: 2, log: 4 })
    t.equal(denials.length, 3)
    t.equal(new Set(denials).size, 1)
  }
})

t.test('1000 requests that wait until it is known who they are never pass more than the limit', async (t) => {
  const bounds: BoundOptions<FastifyRequest>[] = [
    { ...all, limits: perMinute(400) },
    { name: 'mine', per: 'caller', limits: perMinute(100) },
  ]
  for (const per of ['everyone', 'address'] as const) {
    const open = gate()
    const { get, asked, left, handled } = await boundApp(t, {
      bounds: [{ ...bounds[0]!, per }, bounds[1]!],
      identify: async () => {
        await open.passed
        return apiKey('a')
      },
    })
    const answers = Array.from({ length: 1000 }, get)
    await until(() => asked() === 400)
    t.same(left(), { all: 0, mine: 100 })
    open.open()
    const codes = await Promise.all(answers)
    t.equal(asked(), 400, 'the others were refused before')
    t.equal(codes.filter((code) => code === 200).length, 100)
    t.equal(handled(), 100)
    t.same(left(), { all: 300, mine: 0 }, 'those that the later bound denied are given back')
  }
})

t.test('a reservation that waits is not earned back', async (t) => {
  const open = gate()
  const { get, asked, clock, left } = await boundApp(t, {
    bounds: [all, { name: 'mine', per: 'caller', limits: [] }],
    categories: { request: { default: perMinute(50) } },
    identify: async () => {
      await open.passed
      return apiKey('a')
    },
  })
  const waiting = [get(), get(), get()]
  await until(() => asked() === 3)
  clock.advance(3600_000_000_000n)
  t.equal(await get(), 429)
  open.open()
  t.same(await Promise.all(waiting), [200, 200, 200])
  t.same(left(), { caller: 47, all: 0 }, 'counted from when they were let through')
})

t.test(
  'what a client took that has gone before it is known who it is, is spent, and is not held until that is known',
  async (t) => {
    const open = gate()
    const { app, clock, asked, handled, left } = await boundApp(t, {
      categories: { request: { default: perMinute(50) } },
      identify: async () => {
        await open.passed
        return undefined
      },
    })
    const url = await app.listen({ host: '127.0.0.1', port: 0 })
    const leaving = new AbortController()
    const answer = fetch(url, { signal: leaving.signal }).catch(() => 'gone')
    await until(() => asked() === 1)
    t.equal(left().all, 2)
    leaving.abort()
    t.equal(await answer, 'gone')
    const connections = () => new Promise<number>((resolve) => app.server.getConnections((_, count) => resolve(count)))
    while ((await connections()) > 0) await new Promise(setImmediate)
    // Who resets at once would pay nothing otherwise.
    clock.advance(60_000_000_000n)
    t.equal(left().all, 3, 'earned back, which nothing is that is held')
    open.open()
    await new Promise(setImmediate)
    t.same([left().all, left().caller, handled()], [3, 50, 0])
  },
)

t.test('several charges: all are spent, or none', async (t) => {
  const charges = { charges: { request: 1, work: 2, push: 3 } }
  const categories = { push: { default: [] } }
  const bound = (
    name: string,
    count: number,
    more: Partial<BoundOptions<FastifyRequest>> = {},
  ): BoundOptions<FastifyRequest> => ({
    name,
    per: 'everyone',
    category: name,
    limits: perMinute(count),
    ...more,
  })
  const roomy = [bound('request', 9), bound('push', 9)]
  const leftOf = ({ left }: Awaited<ReturnType<typeof boundApp>>) =>
    Object.assign({}, ...['request', 'work', 'push'].map((name) => left(name)))

  const early = await boundApp(t, { route: charges, categories, bounds: [...roomy, bound('work', 1)] })
  t.equal(await early.get(), 200, 'a cost beyond the count, where nothing is owed')
  t.equal(await early.get(), 429)
  t.match(leftOf(early), { request: 8, work: 0, push: 6 })

  const mine = { per: 'caller' } as const
  const late = await boundApp(t, { route: charges, categories, bounds: [...roomy, bound('work', 3, mine)] })
  t.same([await late.get(), await late.get()], [200, 429])
  t.match(leftOf(late), { request: 8, work: 1, push: 6 })

  const unknown = await boundApp(t, {
    route: charges,
    categories,
    bounds: [...roomy, { ...bound('mine', 9, mine), category: 'request' }, bound('work', 3)],
  })
  t.same([await unknown.get(), await unknown.get()], [200, 429])
  t.equal(unknown.asked(), 1)
  t.match(leftOf(unknown), { request: 8, mine: 8, work: 1, push: 6 }, 'nor is one that cannot be charged in full')
})

t.test('a set of bounds that a route names twice is counted once', async (t) => {
  const made = await boundApp(t, { bounds: [] })
  const set = made.limiter.bounds([
    { name: 'set', per: 'everyone', limits: [{ kind: 'sliding_log', count: 2, windowSeconds: 60 }] },
  ])
  const { app } = made
  const other = createFastify(false)
  t.teardown(() => other.close())
  await other.register(allowance, { domain, limiter: app.allowance.limiter })
  other.get('/', { config: { allowance: { bounds: () => [set, set] } } }, async () => 'ok')
  const codes = []
  for (let i = 0; i < 3; i++) codes.push((await other.inject('/')).statusCode)
  t.same(codes, [200, 200, 429])
})

t.test(
  'what is reserved or held in a request is released when its response ends, and forgotten when it is closed before',
  async (t) => {
    const { app, limiter } = await boundApp(t, {
      bounds: [{ ...all, per: 'user' }],
      holds: [{ name: 'slot', per: 'everyone', count: 2, retryDelaySeconds: 1 }],
    })
    const units = () => limiter.remaining(apiKey('a'), 'request')[0]!.units
    let kept: { commit(): boolean; release(): void } | undefined
    app.get('/keep', async (request) => {
      kept = await request.reserve('request', 2)
      await request.hold('slot')
      ;(await request.hold('slot')).release()
      return { units: units() }
    })
    app.get('/commit', async (request) => {
      const made = await request.reserve('request', 1)
      return { committed: made.commit(), again: made.commit() }
    })
    app.get('/forget', async (request) => {
      const committed: WeakRef<object>[] = []
      for (let n = 0; n < 100; n++) {
        const made = await request.reserve('request', 0)
        made.commit()
        committed.push(new WeakRef(made))
        await new Promise(setImmediate)
      }
      collectGarbage()
      return { left: committed.filter((made) => made.deref() !== undefined).length }
    })
    for (let i = 0; i < 5; i++) {
      t.same((await app.inject('/keep')).json(), { units: 1 })
      t.equal(units(), 3)
      t.equal(kept?.commit(), false, 'it is too late')
      t.equal(units(), 3)
    }
    t.same((await app.inject('/commit')).json(), { committed: true, again: false })
    t.equal(units(), 2)
    t.ok((await app.inject('/forget')).json().left < 5, 'a long response does not collect them')
  },
)

t.test('a long response does not collect the denials of its handler, which it may meet again and again', async (t) => {
  const denials: WeakRef<object>[] = []
  const { app } = await boundApp(t, {
    bounds: [{ ...all, limits: perMinute(1), category: 'work' }],
    onDenied: (denial) => void denials.push(new WeakRef(denial)),
  })
  app.get('/again', async (request) => {
    await request.spend('work', 1)
    for (let n = 0; n < 100; n++) {
      await request.spend('work', 1).catch(() => {})
      await new Promise(setImmediate)
    }
    collectGarbage()
    return { left: denials.filter((denial) => denial.deref() !== undefined).length }
  })
  const { left } = (await app.inject('/again')).json()
  t.equal(denials.length, 100)
  t.ok(left < 5, `${left} left`)
})
