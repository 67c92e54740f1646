import { Code, ConnectError } from '@connectrpc/connect'
import { fastifyConnectPlugin } from '@connectrpc/connect-fastify'
import t, { type Test } from 'tap'
import { type AllowanceOptions, AllowanceOptionsError, allowanceOf } from '../../src/index.ts'
import { ChargedService } from '../gen/test/v1/charged_pb.ts'
import { MatrixService } from '../gen/test/v1/matrix_pb.ts'
import { bareApp, chargedFor } from '../support/charged-for.ts'
import { matrixService, pathOf } from '../support/matrix-app.ts'

const { unary, free, undeclared } = MatrixService.method

const appWith = async (t: Test, charges: AllowanceOptions['charges']) => {
  const app = await bareApp(t, { charges })
  await app.register(
    fastifyConnectPlugin,
    app.allowance.connect({ routes: (router) => router.service(MatrixService, matrixService()) }),
  )
  await app.ready()
  return app
}

t.test('charges in TypeScript stand instead of those in the .proto', async (t) => {
  const app = await appWith(t, [
    { method: unary, charges: [{ category: 'work', count: 'items', units: 10, atLeast: 3 }] },
    { method: free, charges: [{ category: 'work', units: 7 }] },
    { method: undeclared, free: true },
  ])
  t.same(await chargedFor(app, pathOf('Unary')), { status: 200, request: 1, work: 30 })
  t.same(await chargedFor(app, pathOf('Free')), { status: 200, request: 1, work: 7 })
  t.same(await chargedFor(app, pathOf('Undeclared')), { status: 200, request: 0, work: 0 })
  t.match(app.allowance.categoryTable(), /Unary +1 request +work: items \(at least 3\) × 10\n/)
  t.match(app.allowance.categoryTable(), /Undeclared +free\n/)
})

t.test('a service can be free as a whole, but for the methods that say otherwise', async (t) => {
  const app = await appWith(t, [
    { service: MatrixService, free: true },
    { method: undeclared, charges: [] },
  ])
  t.same(await chargedFor(app, pathOf('Unary')), { status: 200, request: 0, work: 0 })
  t.same(await chargedFor(app, pathOf('Undeclared')), { status: 200, request: 1, work: 0 })
})

const stepRequest = {
  method: 'POST',
  url: pathOf('Step'),
  headers: { 'content-type': 'application/json' },
  payload: '{}',
} as const

t.test('RATE-011: a handler spends a category that the option declares, and no other', async (t) => {
  const step = MatrixService.method.step
  const rows = [
    [[{ method: step, charges: [{ category: 'step', byHandler: true }] }], 200, 1],
    [[{ method: step, charges: [{ category: 'work', byHandler: true }] }], 500, 0],
    [[{ method: step, charges: [{ category: 'step', units: 3 }] }], 500, 3],
    [[{ method: step, charges: [] }], 500, 0],
    [[{ method: step, free: true }], 500, 0],
    [[{ service: MatrixService, free: true }], 500, 0],
  ] as const
  for (const [charges, status, spent] of rows) {
    const app = await appWith(t, charges)
    const left = () => app.allowance.limiter.remaining({ type: 'ip', address: '127.0.0.1' }, 'step')[0]!.units
    const before = left()
    const answer = await app.inject(stepRequest)
    t.equal(answer.statusCode, status, Object.entries(charges[0]).join())
    t.equal(left(), before - spent)
  }
})

t.test('a charge in a category that nobody declared stops the start, and names the RPC', async (t) => {
  for (const byHandler of [false, true]) {
    const charges = [{ method: unary, charges: [{ category: 'wrok', byHandler }] }]
    const message =
      /^charges\[0\]\.charges\[0\]\.category: must be a category of rateLimits \(did you mean "work"\?\): /
    await t.rejects(bareApp(t, { charges }), { name: 'AllowanceOptionsError', message })
  }

  const inProto = bareApp(t, { rateLimits: { maxMemoryMib: 1 } }).then(async (app) => {
    await app.register(
      fastifyConnectPlugin,
      app.allowance.connect({ routes: (router) => router.service(MatrixService, matrixService()) }),
    )
    await app.ready()
  })
  await t.rejects(inProto, { message: /^test\.v1\.MatrixService\/Unary: category "work" is not declared/ })
})

t.test('an entry for an RPC that is never registered stops the start, by name', async (t) => {
  const allowed = 'is not registered through app.allowance.connect({ routes }); remove the entry, or register it'
  const charges = [
    { method: unary, free: true },
    { method: ChargedService.method.push, free: true },
    { service: ChargedService, free: true },
  ] as const
  await t.rejects(appWith(t, charges), {
    name: 'AllowanceOptionsError',
    message: `charges[1].method: test.v1.ChargedService/Push ${allowed}\ncharges[2].service: test.v1.ChargedService ${allowed}`,
  })
  const none = await bareApp(t, { charges: charges.slice(0, 1) })
  await t.rejects(async () => void (await none.ready()), {
    message: `charges[0].method: test.v1.MatrixService/Unary ${allowed}`,
  })
})

t.test('wrong charges stop the start with their path', async (t) => {
  const wrong = bareApp(t, { charges: [{ method: unary, charges: [{ category: 'work', count: 'itmes' }] }] })
  await t.rejects(wrong, AllowanceOptionsError)
  await wrong.catch((error: AllowanceOptionsError) => t.equal(error.path, 'charges[0].charges[0].count'))
})

t.test(
  'spending in a handler in a category that nobody declared is an error of the app, and charges nothing',
  async (t) => {
    const seen: unknown[] = []
    const charges = [
      { category: 'work', count: 'items' },
      { category: 'work', byHandler: true },
    ]
    const app = await bareApp(t, { charges: [{ method: unary, charges }] })
    await app.register(
      fastifyConnectPlugin,
      app.allowance.connect({
        routes: (router) =>
          router.rpc(unary, async (_, context) => {
            const allowance = allowanceOf(context)
            for (const [category, cost] of [
              ['wrok', 1],
              ['work', -1],
              ['work', 0.5],
              ['work', Number.NaN],
            ] as const) {
              await allowance.spend(category, cost).catch((error) => seen.push(error))
            }
            throw new ConnectError('done', Code.Aborted)
          }),
      }),
    )
    t.match(await chargedFor(app, pathOf('Unary')), { request: 1, work: 2 })
    t.equal(seen.length, 4)
    for (const error of seen) t.ok(error instanceof RangeError)
  },
)
