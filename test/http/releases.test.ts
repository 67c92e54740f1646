import { once } from 'node:events'
import { constants } from 'node:http2'
import { PassThrough, Readable } from 'node:stream'
import t from 'tap'
import { apiKey, second } from '../support/limiter-of.ts'
import type { Teardown } from '../support/matrix-app.ts'
import { everyone, listeningPlainApp } from '../support/plain-app.ts'
import { headOf, openSocket } from '../support/raw-http1.ts'
import { openSession, request, responseTo } from '../support/raw-http2.ts'

const json = { 'content-type': 'application/json' }
const as = (name: string) => ({ 'x-caller': name })
const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: localhost\r\nx-caller: a\r\n\r\n`

/** An app of which each route keeps a hold and a reservation of all that there is, and ends in its own way. */
const holdingApp = async (t: Teardown, http2: boolean) => {
  const streams: PassThrough[] = []
  const made = { opened: 0 }
  const server = await listeningPlainApp(t, {
    http2,
    limits: { request: '', work: '5/60' },
    allowance: { holds: [{ name: 'slot', per: 'caller', count: 1, retryDelaySeconds: 1 }] },
    routes: (app) => {
      app.addHook('preHandler', async (request) => {
        if (request.headers['x-caller'] === 'a') await request.reserve('work', 5)
        made.opened++
      })
      const allowance = { holds: ['slot'] }
      const stream = () => {
        const one = new PassThrough()
        streams.push(one)
        one.write('begun')
        return one
      }
      app.get('/stream', { config: { allowance } }, (_request, reply) => reply.send(stream()))
      app.get('/hijacked', { config: { allowance } }, (_request, reply) => {
        reply.hijack()
        stream().pipe(reply.raw as unknown as NodeJS.WritableStream)
      })
      app.get('/never', { config: { allowance } }, () => new Promise(() => {}))
      app.get('/ends', { config: { allowance } }, async () => 'ok')
      app.get('/throws', { config: { allowance } }, async () => {
        throw new Error('broken')
      })
      app.get('/denied', { config: { allowance } }, async (request) => void (await request.spend('work', 1)))
      app.get('/breaks', { config: { allowance } }, (_request, reply) =>
        reply.send(
          Readable.from(
            (async function* () {
              yield 'begun'
              await new Promise(setImmediate)
              throw new Error('broken')
            })(),
          ),
        ),
      )
    },
  })
  const { limiter } = server
  const isFree = () => {
    const hold = limiter.hold(apiKey('a'), 'slot')
    if (hold.admitted) hold.hold.release()
    return hold.admitted && limiter.remaining(apiKey('a'), 'work')[0]!.units === 5
  }
  const until = async (what: () => boolean, name: string) => {
    for (let i = 0; !what(); i++) {
      if (i > 500) throw new Error(`never: ${name}`)
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
  }
  const taken = async () => {
    await until(() => made.opened > 0, 'opened')
    return !isFree()
  }
  return { ...server, streams, isFree, taken, until }
}

t.test('HTTP/1.1: holds and reservations end with the response, however it ends', async (t) => {
  for (const path of ['/ends', '/throws', '/denied', '/breaks']) {
    const { port, isFree, until, app } = await holdingApp(t, false)
    const { write } = await openSocket(t, port)
    write(get(path))
    await until(isFree, path)
    for (let i = 0; i < 3; i++) await app.inject({ url: path, headers: as('a') }).catch(() => {})
    t.ok(isFree(), path)
  }
  for (const path of ['/stream', '/hijacked', '/never']) {
    for (const leave of ['end of the stream', 'destroy', 'resetAndDestroy', 'end'] as const) {
      if (leave === 'end of the stream' && path === '/never') continue
      // Fastify and Node go on with a request whose client has only ended its side.
      if (leave === 'end' && path !== '/never') continue
      const { port, isFree, taken, until, streams, app } = await holdingApp(t, false)
      const { write, socket } = await openSocket(t, port)
      write(get(path))
      t.ok(await taken(), `${path}: kept`)
      if (leave === 'end of the stream') streams[0]!.end('all')
      else socket[leave]()
      if (leave === 'end') socket.destroySoon()
      await until(isFree, `${path} ${leave}`)
      t.pass(`${path}: given back after ${leave}`)
      await app.close()
    }
  }
})

t.test('HTTP/2: holds and reservations end with the response, however it ends', async (t) => {
  for (const path of ['/ends', '/throws', '/denied', '/breaks']) {
    const { url, isFree, until } = await holdingApp(t, true)
    const stream = openSession(t, url).request({ ':path': path, ...as('a') })
    stream.on('error', () => {}).resume()
    await once(stream, 'close')
    await until(isFree, path)
    t.pass(path)
  }
  const ways = {
    'the end of the stream': undefined,
    'a reset': (stream: ReturnType<typeof request>) => stream.close(constants.NGHTTP2_CANCEL),
    'an error': (stream: ReturnType<typeof request>) => stream.destroy(new Error('x')),
    'the end of its session': (stream: ReturnType<typeof request>) => stream.session!.destroy(),
    'a lost connection': (stream: ReturnType<typeof request>) => stream.session!.socket.destroy(),
  }
  for (const path of ['/stream', '/hijacked', '/never']) {
    for (const [name, leave] of Object.entries(ways)) {
      if (leave === undefined && path === '/never') continue
      const { url, isFree, taken, until, streams } = await holdingApp(t, true)
      const session = openSession(t, url)
      const stream = session.request({ ':path': path, ...as('a') })
      stream.on('error', () => {}).resume()
      t.ok(await taken(), `${path}: kept`)
      if (leave === undefined) streams[0]!.end('all')
      else leave(stream as never)
      await until(isFree, `${path} ${name}`)
      t.pass(`${path}: given back after ${name}`)
    }
  }
})

t.test('what is committed or released is not given back again at the end', async (t) => {
  const { app, limiter } = await listeningPlainApp(t, {
    limits: { request: '', work: '10/60' },
    allowance: { holds: [{ name: 'slot', per: 'caller', count: 1, retryDelaySeconds: 1 }] },
    routes: (app) =>
      app.get('/', async (request) => {
        const [one, two, left] = [
          await request.reserve('work', 3),
          await request.reserve('work', 2),
          await request.reserve('work', 5),
        ]
        const first = await request.hold('slot')
        first.release()
        await request.hold('slot')
        const results = [one.commit(), one.commit(), two.release(), two.commit()]
        setTimeout(() => late.push(left.commit()))
        return results
      }),
  })
  const late: boolean[] = []
  const { body } = await app.inject({ url: '/', headers: as('a') })
  t.same(JSON.parse(body), [true, false, null, false])
  await new Promise((resolve) => setTimeout(resolve, 20))
  t.same(late, [false], 'what is left open is released with the response, and cannot be committed after it')
  t.equal(limiter.remaining(apiKey('a'), 'work')[0]!.units, 7)
  t.equal(limiter.hold(apiKey('a'), 'slot').admitted, true)
})

t.test('nothing can be held before it is known which response it is for', async (t) => {
  const { app, log, limiter } = await listeningPlainApp(t, {
    limits: { request: '', work: '10/60' },
    before: (app) =>
      app.addHook('onRequest', async (request) => {
        if (request.headers['x-early']) await request.reserve('work', 1)
      }),
    routes: (app) => {
      app.addHook('onRequest', async (request) => {
        if (request.headers['x-late']) await request.reserve('work', 1)
      })
      app.get('/', async () => 'ok')
    },
  })
  const early = await app.inject({ url: '/', headers: { ...as('a'), 'x-early': '1' } })
  t.match(early.json(), { statusCode: 500, message: /^nothing can be held or reserved before/ })
  t.equal(log.length, 2)
  for (const url of ['/', '/nowhere']) {
    const late = await app.inject({ url, headers: { ...as('a'), 'x-late': '1' } })
    t.equal(late.statusCode, url === '/' ? 200 : 404, 'in hooks after the plugin it can')
  }
  t.equal(limiter.remaining(apiKey('a'), 'work')[0]!.units, 10)
})

t.test('a client that leaves while identify works does no harm, and keeps nothing', async (t) => {
  for (const [http2, identity] of [
    [false, apiKey('leaver')],
    [true, apiKey('leaver')],
    [false, undefined],
    [true, undefined],
  ] as const) {
    let goOn = () => {}
    let arrived = () => {}
    const gate = new Promise<void>((resolve) => {
      goOn = resolve
    })
    const asked = new Promise<void>((resolve) => {
      arrived = resolve
    })
    const { url, port, limiter, app, log } = await listeningPlainApp(t, {
      http2,
      limits: { request: '10/60' },
      allowance: {
        holds: [{ name: 'slot', per: 'caller', count: 1, retryDelaySeconds: 1 }],
        identify: async (request) => {
          if (request.headers['x-caller'] !== 'leaver') return apiKey('other')
          arrived()
          await gate
          return identity
        },
      },
      routes: (app) => app.post('/', { config: { allowance: { holds: ['slot'] } } }, async () => 'ok'),
    })
    if (http2) {
      const session = openSession(t, url)
      const stream = request(session, '/', { ...as('leaver'), ...json })
      stream.on('error', () => {}).end('{}')
      await asked
      const closed = once(session, 'close')
      session.destroy()
      await closed
    } else {
      const { write, socket } = await openSocket(t, port)
      write(
        `${headOf('/', [
          ['x-caller', 'leaver'],
          ['content-type', 'application/json'],
          ['content-length', 2],
        ])}{}`,
      )
      await asked
      socket.resetAndDestroy()
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
    goOn()
    await new Promise((resolve) => setTimeout(resolve, 20))
    t.equal(limiter.hold(apiKey('leaver'), 'slot').admitted, true, 'the hold is given back')
    t.same(log, [], 'and nothing went wrong')
    if (http2) {
      const stream = request(openSession(t, url), '/', { ...as('other'), ...json })
      stream.end('{}')
      t.equal((await responseTo(stream)).status, 200, 'the server goes on')
    } else {
      const answer = await fetch(url, { method: 'POST', body: '{}', headers: { ...as('other'), ...json } })
      t.equal(answer.status, 200, 'the server goes on')
    }
    await app.close()
  }
})

t.test(
  'handlerTimeout that answers while identify works: only what needed no identity is charged, nothing held',
  async (t) => {
    let goOn = () => {}
    const gate = new Promise<void>((resolve) => {
      goOn = resolve
    })
    let handled = 0
    const { url, limiter, left } = await listeningPlainApp(t, {
      fastify: { handlerTimeout: 20 },
      limits: { request: '10/60' },
      allowance: {
        holds: [{ name: 'slot', per: 'caller', count: 1, retryDelaySeconds: 1 }],
        bounds: [{ name: 'address', per: 'address', limits: [{ count: 10, windowSeconds: 60 }] }],
        identify: () => gate.then(() => apiKey('a')),
      },
      routes: (app) => app.get('/', { config: { allowance: { holds: ['slot'] } } }, async () => handled++),
    })
    t.equal((await fetch(url)).status, 503)
    goOn()
    await new Promise((resolve) => setTimeout(resolve, 20))
    t.same(left(), [10, 9])
    t.equal(handled, 0)
    const caller = limiter.resolve(apiKey('a'), { address: '127.0.0.1' })
    t.equal(limiter.hold(caller, 'slot').admitted, true)
  },
)

t.test(
  'what needed no identity is spent, and not held, once its response is at its end, though identify never settles',
  async (t) => {
    for (const [name, http2] of [
      ['handlerTimeout', false],
      ['reset', false],
      ['reset', true],
    ] as const) {
      const { promise: asked, resolve: isAsked } = Promise.withResolvers<void>()
      const { url, port, clock, left } = await listeningPlainApp(t, {
        http2,
        fastify: name === 'handlerTimeout' ? { handlerTimeout: 20 } : {},
        limits: { request: '10/60' },
        allowance: {
          bounds: [everyone('10/60')],
          identify: () => {
            isAsked()
            return new Promise(() => {})
          },
        },
        routes: (app) => app.get('/', { config: { allowance: {} } }, async () => 'ok'),
      })
      const leave = await {
        async handlerTimeout() {
          const answer = fetch(url)
          return async () => t.equal((await answer).status, 503)
        },
        async reset() {
          if (http2) {
            const stream = openSession(t, url).request({ ':path': '/' })
            stream.on('error', () => {})
            return async () => stream.close(constants.NGHTTP2_CANCEL)
          }
          const { write, socket } = await openSocket(t, port)
          write(get('/'))
          return async () => socket.resetAndDestroy()
        },
      }[name]()
      await asked
      t.same(left(), [10, 9], name)
      clock.advance(3600n * second)
      t.same(left(), [10, 9], `${name}: held until then`)
      await leave()
      await new Promise((resolve) => setTimeout(resolve, 20))
      t.same(left(), [10, 9], `${name}: not given back`)
      // Earned back from its end on, which comes at a moment of its own.
      for (let i = 0; left()[1] !== 10; i++) {
        if (i > 500) throw new Error(`never: ${name}`)
        await new Promise((resolve) => setTimeout(resolve, 2))
        clock.advance(6n * second)
      }
      t.pass(`${name}, HTTP/${http2 ? 2 : 1.1}`)
    }
  },
)

t.test('a refusal by the second hold gives the first back at once, before its client takes it', async (t) => {
  const { port, clock, limiter } = await listeningPlainApp(t, {
    allowance: {
      holds: [
        { name: 'all', per: 'everyone', count: 1, retryDelaySeconds: 1 },
        { name: 'own', per: 'caller', count: 1, retryDelaySeconds: 2 },
      ],
    },
    routes: (app) => app.post('/', { config: { allowance: { holds: ['all', 'own'] } } }, async () => 'ok'),
  })
  const own = limiter.hold(apiKey('a'), 'own')
  t.ok(own.admitted)
  const { write, response } = await openSocket(t, port)
  write(
    headOf('/', [
      ['x-caller', 'a'],
      ['content-type', 'application/json'],
      ['content-length', 2],
    ]),
  )
  // The refusal waits for the body.
  await clock.busy()
  const all = limiter.hold(apiKey('b'), 'all')
  t.ok(all.admitted, 'free for others')
  write('{}')
  t.match(await response(), { status: 429, headers: { 'retry-after': '2' } })
})

// Node 24 tells a response that stands in line of the end of its connection, older ones do not: test/request/response-end.test.ts.
t.test('HTTP/1.1: what requests that stand in line have taken is given back when their connection goes', async (t) => {
  for (const leave of ['destroy', 'resetAndDestroy'] as const) {
    const holds = [{ name: 'slot', per: 'everyone', count: 3, retryDelaySeconds: 1 }] as const
    let taken = 0
    const { port, limiter } = await listeningPlainApp(t, {
      limits: { request: '', work: '3/60' },
      allowance: { holds },
      routes: (app) =>
        app
          .get('/never', () => new Promise(() => {}))
          .get('/', { config: { allowance: { holds: ['slot'] } } }, async (request) => {
            await request.reserve('work', 1)
            taken++
            return 'ok'
          }),
    })
    const isFree = () => {
      const made = limiter.hold(apiKey('b'), 'slot')
      if (made.admitted) made.hold.release()
      return made.admitted && limiter.remaining(apiKey('a'), 'work')[0]!.units === 3
    }
    const until = async (what: () => boolean) => {
      for (let i = 0; !what(); i++) {
        if (i > 500) throw new Error(`never: ${what}`)
        await new Promise((resolve) => setTimeout(resolve, 2))
      }
    }
    const { write, socket } = await openSocket(t, port)
    write(get('/never') + get('/').repeat(3))
    await until(() => taken === 3)
    t.notOk(isFree(), 'their answers wait')
    socket[leave]()
    await until(isFree)
    t.pass(leave)
  }
})
