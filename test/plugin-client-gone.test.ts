import type { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { Code, ConnectError } from '@connectrpc/connect'
import t from 'tap'
import type { Caller, Limiter } from '../src/index.ts'
import { apiKey } from './support/limiter-of.ts'
import { callerHeader, listeningMatrixApp, pathOf, rateLimits, type Teardown } from './support/matrix-app.ts'
import { headOf, openSocket } from './support/raw-http1.ts'
import { openSession, request, send } from './support/raw-http2.ts'

const victim = '203.0.113.9'
const json = { 'content-type': 'application/json' }
const post = (caller: string) =>
  headOf(pathOf('Undeclared'), [
    ['x-caller', caller],
    ['x-forwarded-for', victim],
    ['content-type', 'application/json'],
    ['content-length', 2],
  ])
const closed = (of: EventEmitter) => new Promise((resolve) => of.once('close', resolve))

/** Units left to whom a client on a Unix socket would be charged, were it believed or not. */
const notCharged = (limiter: Limiter) =>
  ['unix', victim].map((address) => limiter.remaining({ type: 'ip', address }, 'request')[0]!.units)

/** An app whose `identify` waits until it is told to go on. */
const waitingApp = async (t: Teardown, http2: boolean, outcome: () => Caller | undefined) => {
  let arrived = () => {}
  let goOn = () => {}
  const identifying = new Promise<void>((resolve) => {
    arrived = resolve
  })
  const gate = new Promise<void>((resolve) => {
    goOn = resolve
  })
  const server = await listeningMatrixApp(t, {
    http2,
    allowance: {
      rateLimits: { ...rateLimits({ request: '1/60' }), trustedProxies: ['unix'] },
      identify: async (request) => {
        const { raw } = request
        if (raw.headers['x-caller'] === 'afterwards') return callerHeader(request)
        arrived()
        await gate
        return outcome()
      },
    },
  })
  return { ...server, identifying, goOn: () => goOn() }
}

t.test('a client that leaves while identify works does no harm', async (t) => {
  const outcomes: Record<string, () => Caller | undefined> = {
    admitted: () => apiKey('gone'),
    denied: () => apiKey('spent'),
    'by its address': () => undefined,
    refused: () => {
      throw new ConnectError('the credentials are no good', Code.Unauthenticated)
    },
  }
  for (const [name, outcome] of Object.entries(outcomes)) {
    t.test(`${name}, over HTTP/1.1`, async (t) => {
      const { port, app, limiter, identifying, goOn } = await waitingApp(t, false, outcome)
      limiter.spend(apiKey('spent'), 'request', 1)
      const serverSide = new Promise<Socket>((resolve) => app.server.once('connection', resolve))
      const { socket, write } = await openSocket(t, port)
      write(`${post('leaver')}{}`)
      await identifying
      const gone = closed(await serverSide)
      socket.resetAndDestroy()
      await gone
      goOn()
      await new Promise(setImmediate)
      const after = await openSocket(t, port)
      after.write(`${post('afterwards')}{}`)
      t.equal((await after.response()).status, 200, 'the server goes on')
      t.same(notCharged(limiter), [1, 1], 'it is not taken for a proxy on a Unix socket')
    })

    t.test(`${name}, over HTTP/2`, async (t) => {
      const { url, limiter, identifying, goOn, clock } = await waitingApp(t, true, outcome)
      limiter.spend(apiKey('spent'), 'request', 1)
      const session = openSession(t, url)
      const stream = request(session, pathOf('Undeclared'), { ...json, 'x-forwarded-for': victim })
      stream.on('error', () => {})
      stream.end('{}')
      await identifying
      const gone = closed(session)
      session.destroy()
      await gone
      const after = openSession(t, url)
      const headers = { ...json, 'x-caller': 'afterwards' }
      t.equal((await send(after, pathOf('Free'), headers, '{}')).status, 200)
      goOn()
      await new Promise(setImmediate)
      t.equal((await send(after, pathOf('Undeclared'), headers, '{}')).status, 200, 'the server goes on')
      t.same(notCharged(limiter), [1, 1], 'it is not taken for a proxy on a Unix socket')
      t.equal(clock.scheduled, 0)
    })
  }
})
