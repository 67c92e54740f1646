import t from 'tap'
import { type Identify, manualClock } from '../src/index.ts'
import { apiKey } from './support/limiter-of.ts'
import { listeningMatrixApp, pathOf, type Teardown } from './support/matrix-app.ts'
import { headOf, openSocket } from './support/raw-http1.ts'
import { ofConnectJson, rejectionOf } from './support/rejection.ts'

const headers = [
  ['x-caller', 'writer'],
  ['content-type', 'application/json'],
] as const

/** A server with Fastify's `handlerTimeout`, and a plain route that only ever ends by it. */
const timingOut = async (t: Teardown, identify?: Identify) => {
  const server = await listeningMatrixApp(t, {
    limits: { request: '1/60' },
    fastify: { handlerTimeout: 20 },
    allowance: { ...(identify && { identify }) },
    before: (app) => app.get('/timed-out', () => new Promise(() => {})),
  })
  const timedOut = async () => {
    const { status } = await fetch(`${server.url}/timed-out`)
    if (status !== 503) throw new Error(`the plain route was answered ${status}, not by handlerTimeout`)
  }
  return { ...server, timedOut }
}

t.test('RATE-011: a request that handlerTimeout answered while identify worked is charged nothing', async (t) => {
  for (const [name, end] of [
    ['identified', async () => apiKey('writer')],
    ['rejected', () => Promise.reject(new Error('no'))],
  ] as const) {
    t.test(`and then ${name}`, async (t) => {
      let identified = () => {}
      const asked = new Promise<void>((resolve) => {
        identified = resolve
      })
      const { url, left, called } = await timingOut(t, () => asked.then(end))
      const answer = await fetch(url + pathOf('Unary'), {
        method: 'POST',
        headers: [...headers.map((pair) => [...pair] as [string, string])],
        body: '{}',
      })
      t.equal(answer.status, 503)
      identified()
      await new Promise(setImmediate)
      t.equal(left('writer'), 1)
      t.same(called, [])
    })
  }
})

t.test('RATE-014: handlerTimeout does not take the place of a denial while the body is read', async (t) => {
  const { port, limiter, timedOut } = await timingOut(t)
  limiter.spend(apiKey('writer'), 'request', 1)
  const { write, response } = await openSocket(t, port)
  write(headOf(pathOf('Unary'), [...headers, ['content-length', 2]]))
  // Its time began later than that of the call.
  await timedOut()
  write('{}')
  const { status, headers: answered, body } = await response()
  t.equal(status, 429)
  t.same(ofConnectJson(JSON.parse(body), answered['retry-after']), rejectionOf('request', 60_000))
})

t.test('a clock that fails is a failed request, sync or async, and no unhandled rejection', async (t) => {
  for (const identify of [() => apiKey('writer'), async () => apiKey('writer')]) {
    let fails = false
    const { wall, schedule } = manualClock()
    const server = await listeningMatrixApp(t, {
      allowance: {
        identify,
        clock: { wall, schedule, now: () => (fails ? (5 as unknown as bigint) : 0n) },
      },
    })
    fails = true
    const answer = await fetch(server.url + pathOf('Unary'), {
      method: 'POST',
      headers: [['content-type', 'application/json']],
      body: '{}',
    })
    t.equal(answer.status, 500)
    t.same(server.called, [])
  }
})
