import t from 'tap'
import { allowanceOf, type Reservation } from '../../src/index.ts'
import { MatrixService } from '../gen/test/v1/matrix_pb.ts'
import { apiKey } from '../support/limiter-of.ts'
import { listeningMatrixApp, matrixApp, matrixService, pathOf, type Teardown } from '../support/matrix-app.ts'
import { openSession, request, send } from '../support/raw-http2.ts'
import { ofConnectJson, rejectionOf } from '../support/rejection.ts'
import { envelope } from '../support/wire.ts'

const holds = [{ name: 'slot', per: 'caller', count: 1, retryDelaySeconds: 7 }] as const

/** The service of the tests, whose handlers reserve, hold, or wait with a hold. */
const holdingApp = async (t: Teardown, http2: boolean) => {
  const reservations: Reservation[] = []
  const server = await listeningMatrixApp(t, {
    http2,
    limits: { step: '5/60' },
    allowance: { holds },
    connect: {
      routes: (router) =>
        router.service(MatrixService, {
          ...matrixService(),
          async step(_message, context) {
            reservations.push(await allowanceOf(context).reserve('step', 3))
            return {}
          },
          async unary(_message, context) {
            await allowanceOf(context).hold('slot')
            return {}
          },
          async *serverStream(_message, context) {
            await allowanceOf(context).hold('slot')
            yield { text: 'held' }
            await new Promise((resolve) => context.signal.addEventListener('abort', resolve))
          },
          async undeclared(_message, context) {
            await allowanceOf(context).reserve('step', 1)
            return {}
          },
        }),
    },
  })
  const isFree = () => {
    const made = server.limiter.hold(apiKey('a'), 'slot')
    if (made.admitted) made.hold.release()
    return made.admitted
  }
  return { ...server, reservations, isFree }
}
const json = { 'x-caller': 'a', 'content-type': 'application/json' }

t.test('a handler’s reservation that is left open is released when the response ends', async (t) => {
  const { url, left, reservations } = await holdingApp(t, false)
  const step = () => fetch(url + pathOf('Step'), { method: 'POST', headers: json, body: '{}' })
  for (let i = 0; i < 3; i++) t.equal((await step()).status, 200)
  t.equal(left('a', 'step'), 5)
  t.equal(reservations[0]!.commit(), false)
})

t.test('a handler reserves only what its RPC declares', async (t) => {
  const { app, left } = await holdingApp(t, false)
  const answer = await app.inject({ method: 'POST', url: pathOf('Undeclared'), headers: json, payload: '{}' })
  t.equal(answer.json().code, 'internal')
  t.equal(left('a', 'step'), 5)
})

t.test('a refused hold is a rejection in the protocol of the request, with the delay that it declares', async (t) => {
  for (const http2 of [false, true]) {
    const { url, limiter, app } = await holdingApp(t, http2)
    const made = limiter.hold(apiKey('a'), 'slot')
    const unary = http2
      ? await send(openSession(t, url), pathOf('Unary'), json, '{}')
      : await app.inject({ method: 'POST', url: pathOf('Unary'), headers: json, payload: '{}' })
    const error = JSON.parse(unary.body.toString())
    t.same(ofConnectJson(error, unary.headers['retry-after'] as string), rejectionOf('slot', 7000))
    if (made.admitted) made.hold.release()
  }
})

t.test('a stream keeps its hold until it ends, also when its client only leaves', async (t) => {
  const { url, isFree } = await holdingApp(t, true)
  const session = openSession(t, url)
  const stream = request(session, pathOf('ServerStream'), { ...json, 'content-type': 'application/connect+json' })
  stream.on('error', () => {}).end(envelope('{}'))
  await new Promise((resolve) => stream.once('data', resolve))
  t.equal(isFree(), false)
  t.match((await send(session, pathOf('Unary'), json, '{}')).status, 429)
  stream.close(8)
  for (let i = 0; !isFree() && i < 500; i++) await new Promise((resolve) => setTimeout(resolve, 2))
  t.equal(isFree(), true)
  t.equal((await send(session, pathOf('Unary'), json, '{}')).status, 200)
})

t.test('a hold that is not declared is a mistake of the app', async (t) => {
  const { app } = await matrixApp(t, {
    allowance: { holds },
    after: (app) => app.get('/x', (request) => request.hold('slots')),
  })
  const answer = await app.inject('/x')
  t.match(answer.json(), { statusCode: 500, message: 'hold "slots" is not declared in holds; declared are slot' })
})
