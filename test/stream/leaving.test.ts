import type { Socket } from 'node:net'
import t from 'tap'
import { allowanceOf, type OpenStream } from '../../src/index.ts'
import { LiveService } from '../gen/test/v1/live_pb.ts'
import { gate, headers, liveApp, until } from '../support/live-app.ts'
import { callerHeader, type Teardown } from '../support/matrix-app.ts'
import { headOf, openSocket } from '../support/raw-http1.ts'
import { openSession, request } from '../support/raw-http2.ts'

const pathOf = (rpc: string) => `/${LiveService.typeName}/${rpc}`
const type = 'application/connect+json'
const body = (text: string) => Buffer.concat([Buffer.from([0, 0, 0, 0, text.length]), Buffer.from(text)])
const message = body('{"topics":1}')

/** Ways to send a request, and to leave. */
const clients: Record<
  string,
  {
    readonly http2: boolean
    readonly send: (t: Teardown, url: string, rpc: string) => Promise<() => void>
  }
> = {
  'an HTTP/1.1 client that resets its connection': {
    http2: false,
    async send(t, url, rpc) {
      const { socket, write } = await openSocket(t, Number(new URL(url).port))
      const head = { ...headers, 'content-type': type, 'content-length': message.length }
      write(headOf(pathOf(rpc), Object.entries(head)))
      write(message)
      return () => socket.resetAndDestroy()
    },
  },
  'an HTTP/1.1 client that closes its connection': {
    http2: false,
    async send(t, url, rpc) {
      const { socket, write } = await openSocket(t, Number(new URL(url).port))
      const head = { ...headers, 'content-type': type, 'content-length': message.length }
      write(headOf(pathOf(rpc), Object.entries(head)))
      write(message)
      return () => socket.destroy()
    },
  },
  'an HTTP/2 client that resets its stream': {
    http2: true,
    async send(t, url, rpc) {
      const stream = request(openSession(t, url), pathOf(rpc), { ...headers, 'content-type': type })
      stream.on('error', () => {})
      stream.end(message)
      return () => stream.close(8)
    },
  },
  'an HTTP/2 client that drops its connection': {
    http2: true,
    async send(t, url, rpc) {
      const session = openSession(t, url)
      const stream = request(session, pathOf(rpc), { ...headers, 'content-type': type })
      stream.on('error', () => {})
      stream.write(message)
      if (rpc !== 'Subscribe') stream.end()
      return () => session.destroy()
    },
  },
}

/** Where the opening is when its client leaves; the RPCs where it can be there. */
const places = {
  'while identify works, before the handler': ['Watch', 'Subscribe'],
  'while the handler works, before it opens a stream': ['Watch', 'Subscribe'],
} as const
type Place = keyof typeof places | 'once it is open'

const scene = async (t: Teardown, place: Place, http2: boolean) => {
  const reached = gate()
  const goOn = gate()
  const ended = gate()
  let opened: OpenStream | undefined
  const pause = async (here: Place) => {
    if (here !== place) return
    reached.open()
    await goOn.passed
  }
  const handler: Parameters<typeof liveApp>[1]['watch'] = async function* (_request, context) {
    try {
      await pause('while the handler works, before it opens a stream')
      opened = await allowanceOf(context).openStream(1)
      reached.open()
      yield { text: 'open' }
      await new Promise(() => {})
    } finally {
      ended.open()
    }
  }
  const server = await liveApp(
    t,
    {
      watch: handler,
      subscribe: (_messages, context) => handler({} as never, context) as AsyncIterable<{ text: string }>,
    },
    {
      http2,
      allowance: {
        identify: async (request) => {
          await pause('while identify works, before the handler')
          return callerHeader(request)
        },
      },
    },
  )
  return { ...server, reached, goOn, ended, opened: () => opened }
}

for (const [name, { http2, send }] of Object.entries(clients)) {
  for (const [place, rpcs] of Object.entries(places) as [keyof typeof places, readonly string[]][]) {
    for (const rpc of rpcs) {
      if (rpc === 'Subscribe' && !http2) continue
      t.test(`${name} ${place}, of ${rpc}: no charge and no timer`, async (t) => {
        const { app, url, reached, goOn, ended, opened, clock, left } = await scene(t, place, http2)
        const sockets = new Set<Socket>()
        app.server.on('connection', (socket) => sockets.add(socket))
        const leave = await send(t, url, rpc)
        await reached.passed
        const [socket] = sockets
        const gone = new Promise((resolve) => socket?.once('close', resolve))
        leave()
        // A stream that was reset leaves its connection open.
        if (name.endsWith('stream')) await new Promise((resolve) => setTimeout(resolve, 20))
        else await gone
        goOn.open()
        if (place !== 'while identify works, before the handler' || rpc === 'Subscribe') await ended.passed
        await new Promise((resolve) => setTimeout(resolve, 20))
        t.equal(opened(), undefined)
        t.equal(left('stream_rent'), 120)
        t.equal(clock.scheduled, 0)
      })
    }
  }

  t.test(`${name} once its stream is open: no more rent, and no timer`, async (t) => {
    const { url, reached, opened, clock, left, advance } = await scene(t, 'once it is open', http2)
    const leave = await send(t, url, http2 ? 'Subscribe' : 'Watch')
    await reached.passed
    t.equal(left('stream_rent'), 118)
    t.equal(clock.scheduled, 1)
    leave()
    await until(() => clock.scheduled === 0)
    t.ok(opened()!.signal.aborted)
    advance(60)
    t.equal(left('stream_rent'), 120)
  })
}
