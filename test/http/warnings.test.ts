import t from 'tap'
import type { AllowanceOptions, BoundOptions, RouteAllowance } from '../../src/index.ts'
import { matrixApp } from '../support/matrix-app.ts'
import { everyone, type PlainAppOptions, plainApp } from '../support/plain-app.ts'

type Bound = BoundOptions<never>
const limits = [{ count: 1, windowSeconds: 60 }]
const forRoles: Bound = { name: 'staff', per: 'user', appliesTo: { roles: ['staff'] }, limits }
const ofSome: Bound = { name: 'some', per: () => undefined, limits }
const nobody =
  /^fastify-allowance: no bound applies to everybody on (.*): the bounds there are about some callers or requests only$/

const unlimited = { maxMemoryMib: 8, categories: { request: { default: [] }, work: { default: [] } } }

/** The warnings at the start of an app with these routes. */
const warnings = async (
  routes: Record<string, RouteAllowance>,
  options: Partial<AllowanceOptions> = {},
  more: Partial<PlainAppOptions> = {},
) => {
  const { app, log } = await plainApp(t, {
    allowance: { rateLimits: unlimited, ...options },
    routes: (app) => {
      for (const [url, allowance] of Object.entries(routes)) app.get(url, { config: { allowance } }, async () => 'ok')
    },
    ...more,
  })
  await app.ready()
  return log.map(({ msg }) => msg)
}

t.test('a route that is bounded for some only is warned of at start, by name', async (t) => {
  for (const [name, allowance, options] of [
    ['by roles', { bounds: [forRoles as never] }, {}],
    ['by a function', { bounds: [ofSome as never] }, {}],
    ['by a predicate', { bounds: [{ ...everyone('1/60'), appliesTo: () => true }] }, {}],
    ['by an auth type', { bounds: [{ ...everyone('1/60'), appliesTo: { authTypes: ['ip'] } }] }, {}],
    ['by a bound of the plugin', {}, { bounds: [forRoles as never] }],
    [
      'by a limit for a kind of caller',
      {},
      { rateLimits: { categories: { request: { default: [], api_key: limits } } } },
    ],
    [
      'in one category, not in another',
      {
        charges: { work: 1 },
        bounds: [{ ...everyone('1/60'), category: 'request' }, { ...forRoles, category: 'work' } as never],
      },
      {},
    ],
  ] as [string, RouteAllowance, Partial<AllowanceOptions>][]) {
    const [warning, ...others] = await warnings({ '/x': allowance }, options)
    t.equal(nobody.exec(warning ?? '')?.[1], 'GET /x', name)
    t.same(others, [], `${name}: once, with its HEAD`)
  }
  const lines: string[] = []
  await matrixApp(t, {
    allowance: {
      rateLimits: { categories: { ...unlimited.categories, step: { default: [] } } },
      bounds: [forRoles as never],
    },
    fastify: { logger: { level: 'warn', stream: { write: (line: string) => void lines.push(JSON.parse(line).msg) } } },
  })
  t.same(
    lines.map((line) => nobody.exec(line)?.[1]),
    ['RPCs'],
  )
  const [warning] = await warnings({}, { notFound: { bounds: [forRoles as never] } })
  t.equal(nobody.exec(warning ?? '')?.[1], 'requests that no route takes')
})

t.test('one that is bounded for everybody, or for nobody, or that nobody can tell, is not', async (t) => {
  t.same(
    await warnings({
      '/all': { bounds: [forRoles as never, everyone('1/60')] },
      '/address': { bounds: [{ name: 'address', per: 'address', limits }] },
      '/user': { bounds: [{ name: 'user', per: 'user', limits }] },
      '/none': {},
      '/free': { free: true, bounds: [forRoles as never] },
      '/empty': { bounds: [{ ...forRoles, limits: [] } as never] },
      '/function': { bounds: () => undefined },
      '/by-request': { charges: () => 1 },
    }),
    [],
  )
  t.same(
    await warnings({ '/x': { bounds: [forRoles as never] } }, { rateLimits: {} }),
    [],
    'the caller’s limits are for everybody',
  )
})

t.test('instances: more than one is warned of at start, with the bounds that hold for each', async (t) => {
  const text =
    'fastify-allowance: every limit holds per instance, and 3 instances run: together they admit up to 3 times as much'
  const bounded = { '/x': { bounds: [everyone('1/60', 'route-bound')] } }
  t.same(await warnings(bounded, { instances: 3, bounds: [everyone('9/60')] }), [`${text} (bounds all, route-bound)`])
  t.same(await warnings({}, { instances: 3, bounds: [everyone('9/60')] }), [`${text} (bounds all)`])
  t.same(await warnings({}, { instances: 3 }), [text])
  t.same(await warnings({}, { instances: 2 }), [text.replaceAll('3', '2')])
  t.same(await warnings(bounded, { instances: 1 }), [])
  for (const instances of [0, 1.5, -1, 1_000_001, '2']) {
    await t.rejects(warnings({}, { instances: instances as number }), {
      message: /options\.instances: must be a whole number from 1 to 1000000/,
    })
  }
})
