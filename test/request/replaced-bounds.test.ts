import fastify from 'fastify'
import t from 'tap'
import allowance, { type BoundSet, createLimiter, manualClock } from '../../src/index.ts'

/** An app with one route, whose bounds can be replaced, and whose requests wait for `open` to be known. */
async function replaceable(t: { teardown(run: () => unknown): unknown }) {
  const limiter = createLimiter({
    rateLimits: { maxMemoryMib: 2, boundsMemoryMib: 1, categories: { request: { default: [] } } },
    clock: manualClock(0n),
  })
  const make = (count: number) =>
    limiter.bounds([
      { name: 'all', per: 'everyone', limits: [{ count: 100, windowSeconds: 60 }] },
      { name: 'each', per: 'user', limits: [{ count, windowSeconds: 60 }] },
    ])
  const gate = Promise.withResolvers<void>()
  let bounds: BoundSet | undefined = make(10)
  let waiting = 0
  const app = fastify()
  t.teardown(() => app.close())
  await app.register(allowance, {
    domain: 'example.com',
    limiter,
    identify: async () => {
      waiting += 1
      await gate.promise
      return { type: 'api_key', name: 'a', user: 'ada' }
    },
  })
  app.get('/', { config: { allowance: { bounds: () => bounds } } }, async (request) => {
    await request.spend('request', 1)
    return 'done'
  })
  const replace = (by: BoundSet | undefined) => {
    bounds?.dispose()
    bounds = by
  }
  const get = async () => (await app.inject('/')).statusCode
  const untilWaiting = async (count: number) => {
    while (waiting < count) await new Promise((resolve) => setImmediate(resolve))
  }
  return { make, replace, get, untilWaiting, open: () => gate.resolve() }
}

t.test('requests that are under way when their bounds are replaced are charged to the new ones', async (t) => {
  const { make, replace, get, untilWaiting, open } = await replaceable(t)
  const running = [get(), get()]
  await untilWaiting(2)
  replace(make(5))
  open()
  t.same(await Promise.all(running), [200, 200])
  t.same([await get(), await get()], [429, 429], 'of five, two requests have spent two each, and one only its first')
})

t.test('where nothing comes in the place of their bounds, they go on without', async (t) => {
  const { replace, get, untilWaiting, open } = await replaceable(t)
  const running = [get(), get()]
  await untilWaiting(2)
  replace(undefined)
  open()
  t.same(await Promise.all(running), [200, 200])
  t.equal(await get(), 200)
})

t.test('a route that goes on naming bounds that were disposed of is told so', async (t) => {
  const { make, replace, get, untilWaiting, open } = await replaceable(t)
  const running = get()
  await untilWaiting(1)
  const gone = make(5)
  gone.dispose()
  replace(gone)
  open()
  t.same([await running, await get()], [500, 500])
})
