import t from 'tap'
import { MatrixService } from '../gen/test/v1/matrix_pb.ts'
import { millisecond, second } from '../support/limiter-of.ts'
import { listeningMatrixApp, matrixService, pathOf, type Teardown } from '../support/matrix-app.ts'
import { heldBytes } from '../support/process-memory.ts'
import { closeOf, type Http1Response, headOf, openSocket } from '../support/raw-http1.ts'
import { ofConnectJson, rejectionOf } from '../support/rejection.ts'
import { watchedClock } from '../support/watched-clock.ts'
import { envelope } from '../support/wire.ts'

const caller = { type: 'api_key', name: 'writer' } as const

/** A server on which the caller has nothing left, and a connection to it. */
const refusing = async (t: Teardown, options: { maxDiscardBytes?: number; discardTimeoutMs?: number } = {}) => {
  const clock = watchedClock()
  const server = await listeningMatrixApp(t, { clock, limits: { request: '1/60' }, allowance: options })
  server.limiter.spend(caller, 'request', 1)
  return { ...server, clock, ...(await openSocket(t, server.port)) }
}

const headers = [
  ['x-caller', caller.name],
  ['content-type', 'application/json'],
] as const

const post = (length: number, ...more: (readonly [string, string])[]) =>
  headOf(pathOf('Unary'), [...headers, ['content-length', length], ...more])
const postChunked = headOf(pathOf('Unary'), [...headers, ['transfer-encoding', 'chunked']])
const chunk = (length: number) => `${length.toString(16)}\r\n${'x'.repeat(length)}\r\n`
const lastChunk = '0\r\n\r\n'
const ok = '{"items":[]}'

const errorIn = ({ status, headers, body }: Http1Response) => ({
  status,
  ...ofConnectJson(JSON.parse(body), headers['retry-after']),
})
const denied = { status: 429, ...rejectionOf('request', 60_000) }

t.test('HTTP/1.1: after a refusal the same connection serves the next request', async (t) => {
  const bodies = {
    'without a body': [post(0)],
    'neither content-length nor chunks': [headOf(pathOf('Unary'), headers)],
    'as long as is read at most': [post(1000), 'x'.repeat(1000)],
    'in two parts': [post(1000), 'x'.repeat(1), 'x'.repeat(999)],
    chunked: [postChunked, chunk(999), chunk(1), lastChunk],
    'chunked and empty': [postChunked, lastChunk],
  }
  for (const [name, parts] of Object.entries(bodies)) {
    t.test(name, async (t) => {
      const { write, response, clock, called } = await refusing(t, { maxDiscardBytes: 1000 })
      for (const part of parts) write(part)
      const refusal = await response()
      t.same(errorIn(refusal), denied)
      t.not(refusal.headers.connection, 'close')
      t.equal(clock.scheduled, 0, 'no timer is left')

      clock.advance(60n * second)
      write(post(ok.length) + ok)
      t.match(await response(), { status: 200, body: '{"text":"0 items"}' })
      t.same(called, ['Unary'])
    })
  }

  t.test('two requests written at once are both answered, in order', async (t) => {
    const { write, response } = await refusing(t)
    write(post(10) + 'x'.repeat(10) + post(20) + 'x'.repeat(20))
    t.same(errorIn(await response()), denied)
    t.same(errorIn(await response()), denied)
  })
})

t.test('HTTP/1.1: a body that is too long ends the connection, after the answer', async (t) => {
  const bodies = {
    'one byte more, told by content-length alone': [1000, post(1001)],
    'one byte more': [1000, post(1001), 'x'.repeat(1001)],
    'one byte more, chunked, that goes on': [1000, postChunked, chunk(1000), chunk(1)],
    'nothing is read at all': [0, post(1)],
    'nothing is read at all, chunked': [0, postChunked, chunk(1)],
    'far more than memory': [1000, post(2 ** 50)],
  } as const
  for (const [name, [maxDiscardBytes, ...parts]] of Object.entries(bodies)) {
    t.test(name, async (t) => {
      const { write, socket, response, clock, app } = await refusing(t, { maxDiscardBytes })
      for (const part of parts) write(part)
      const refusal = await response()
      t.same(errorIn(refusal), denied)
      t.equal(refusal.headers.connection, 'close')
      socket.end()
      await clock.idle()
      t.equal(clock.scheduled, 0, 'no timer is left when the client has closed')
      await app.close()
    })
  }

  t.test('of a client that does not close, when the time is up', async (t) => {
    for (const [name, ...parts] of [
      ['that sends no more', post(2000)],
      ['that sends more than is read', post(5000), 'x'.repeat(4000)],
      ['that sends without end', postChunked, chunk(2000), chunk(2000)],
    ] as const) {
      const { write, response, closed, clock } = await refusing(t, { maxDiscardBytes: 1000, discardTimeoutMs: 5000 })
      for (const part of parts) write(part)
      t.same(errorIn(await response()), denied, name)
      t.equal(clock.scheduled, 1, `${name}: waited for`)
      clock.advance(5n * second)
      await closed
      t.equal(clock.scheduled, 0, name)
    }
  })

  t.test('of a client that does not close, when the body is at its end after all', async (t) => {
    const { write, response, closed, clock } = await refusing(t, { maxDiscardBytes: 1000 })
    write(postChunked + chunk(1001))
    t.same(errorIn(await response()), denied)
    write(chunk(1000))
    write(lastChunk)
    await closed
    t.equal(clock.scheduled, 0)
  })

  t.test('and what comes after it is not charged, nor answered', async (t) => {
    const { write, response, closed, called, left } = await refusing(t, { maxDiscardBytes: 1000 })
    const other = headOf(pathOf('Unary'), [
      ['x-caller', 'other'],
      ['content-type', 'application/json'],
      ['content-length', ok.length],
    ])
    write(postChunked + chunk(1001))
    t.same(errorIn(await response()), denied)
    write(lastChunk + other + ok)
    await closed
    t.same(called, [])
    t.equal(left('other'), 1)
  })

  t.test('0 bytes are enough for a request without a body', async (t) => {
    const { write, response } = await refusing(t, { maxDiscardBytes: 0 })
    for (let i = 0; i < 2; i++) {
      write(post(0))
      t.same(errorIn(await response()), denied)
    }
  })
})

t.test('HTTP/1.1: an upload that dribbles is answered when its time is up, and cut off', async (t) => {
  for (const [name, head, part] of [
    ['with a content-length', post(500), 'x'],
    ['chunked', postChunked, chunk(1)],
    ['with nothing but its head', post(500), ''],
  ] as const) {
    t.test(name, async (t) => {
      const { write, response, closed, clock } = await refusing(t, { discardTimeoutMs: 5000 })
      write(head + part)
      await clock.busy()
      clock.advance(5n * second - 1n)
      t.equal(clock.scheduled, 1, 'a nanosecond before it is still waited for')
      clock.advance(1n)
      const refusal = await response()
      t.same(errorIn(refusal), denied)
      t.equal(refusal.headers.connection, 'close')
      clock.advance(5n * second)
      await closed
      t.equal(clock.scheduled, 0)
    })
  }

  t.test('by default after 10 s', async (t) => {
    const { write, response, clock } = await refusing(t)
    write(post(500))
    await clock.busy()
    clock.advance(10n * second - millisecond)
    t.equal(clock.scheduled, 1)
    clock.advance(millisecond)
    t.equal((await response()).status, 429)
  })
})

t.test('HTTP/1.1: a client that leaves while its body is read leaves no timer behind', async (t) => {
  for (const [name, leave] of [
    ['by closing', 'destroy'],
    ['by a reset', 'resetAndDestroy'],
    ['by ending its side', 'end'],
  ] as const) {
    t.test(name, async (t) => {
      const { write, socket, clock, called, app } = await refusing(t)
      write(`${post(500)}x`)
      await clock.busy()
      socket[leave]()
      await clock.idle()
      t.equal(clock.scheduled, 0)
      t.same(called, [])
      await app.close()
    })
  }
})

t.test('HTTP/1.1: an upload that asks first (Expect: 100-continue)', async (t) => {
  t.test('is read and refused, and the connection goes on', async (t) => {
    const { write, response, clock } = await refusing(t)
    write(post(ok.length, ['expect', '100-continue']))
    t.equal((await response()).status, 100)
    write(ok)
    t.same(errorIn(await response()), denied)
    clock.advance(60n * second)
    write(post(ok.length) + ok)
    t.equal((await response()).status, 200)
  })

  t.test('is refused at once when it is too long', async (t) => {
    const { write, socket, response, clock } = await refusing(t, { maxDiscardBytes: 1000 })
    write(post(1001, ['expect', '100-continue']))
    t.equal((await response()).status, 100)
    t.same(errorIn(await response()), denied)
    socket.end()
    await clock.idle()
  })
})

t.test('HTTP/1.1: a compressed body is never decoded', async (t) => {
  const { write, response, clock } = await refusing(t)
  for (const encoding of ['gzip', 'br', 'deflate', 'nonsense']) {
    write(post(20, ['content-encoding', encoding]))
    write('this is none of them')
    t.same(errorIn(await response()), denied, encoding)
  }
  t.equal(clock.scheduled, 0)
})

t.test('HTTP/1.1: the memory for a body that is thrown away does not grow with it', async (t) => {
  const { write, socket, response } = await refusing(t, { maxDiscardBytes: 2 ** 30 })
  const piece = Buffer.alloc(1 << 20, 'x')
  const pieces = 64
  const before = heldBytes()
  write(post(pieces * piece.length))
  let most = 0
  for (let i = 0; i < pieces; i++) {
    await new Promise((written) => socket.write(piece, written))
    if (i % 16 === 15) most = Math.max(most, heldBytes().arrayBuffers - before.arrayBuffers)
  }
  t.same(errorIn(await response()), denied)
  t.ok(most < 8 << 20, `${most} bytes held of ${pieces * piece.length}`)
})

t.test(
  'HTTP/1.1: a server that closes while a body dribbles, or is not ended, answers at once and closes',
  async (t) => {
    for (const [name, parts] of [
      ['dribbles', [post(500), 'x']],
      ['is too long', [postChunked, chunk(1001)]],
    ] as const) {
      t.test(name, async (t) => {
        const { write, response, closed, clock, app } = await refusing(t, { maxDiscardBytes: 1000 })
        for (const part of parts) write(part)
        const answer = response()
        await clock.busy()
        const close = app.close()
        t.same(errorIn(await answer), denied)
        await closed
        await close
        t.equal(clock.scheduled, 0)
      })
    }
  },
)

t.test('HTTP/1.1: hooks hear of a refusal whose client closes while the server still reads', async (t) => {
  const heard: string[] = []
  const server = await listeningMatrixApp(t, {
    limits: { request: '1/60' },
    before: (app) =>
      app
        .addHook('onResponse', async (_request, _reply) => void heard.push('response'))
        .addHook('onRequestAbort', async (_request) => void heard.push('abort')),
  })
  server.limiter.spend(caller, 'request', 1)
  const { write, socket, response } = await openSocket(t, server.port)
  write(post(5_000_000))
  await response()
  socket.destroy()
  await server.app.close()
  t.same(heard, ['response'])
})

t.test('HTTP/1.1: a stream that is refused for a message ends too, and the server closes', async (t) => {
  const refused = async (t: Teardown) => {
    const clock = watchedClock()
    const server = await listeningMatrixApp(t, {
      clock,
      limits: { work: '1/60' },
      allowance: { maxDiscardBytes: 1000 },
    })
    server.limiter.spend(caller, 'work', 1)
    const raw = await openSocket(t, server.port)
    const head = [
      ['x-caller', caller.name],
      ['content-type', 'application/connect+json'],
      ['transfer-encoding', 'chunked'],
    ]
    const message = envelope('{"items":["one"]}').toString('latin1')
    raw.write(
      `${headOf(pathOf('ClientStream'), head as [string, string][])}${message.length.toString(16)}\r\n${message}\r\n`,
    )
    const { status, body } = await raw.response()
    return { ...server, ...raw, clock, status, error: JSON.parse(body.slice(5)).error }
  }
  t.test('when its client goes on sending', async (t) => {
    const { status, error, write, app, closed, clock } = await refused(t)
    t.match({ status, error }, { status: 200, error: { code: 'resource_exhausted' } })
    for (let i = 0; i < 3; i++) write(chunk(1000))
    await app.close()
    await closed
    t.equal(clock.scheduled, 0)
  })
  t.test('when its client does not, after the time for it', async (t) => {
    const { closed, clock } = await refused(t)
    await clock.busy()
    clock.advance(10n * second)
    await closed
  })
  t.test('but not its connection, when the request ends', async (t) => {
    const { write, response, clock } = await refused(t)
    await clock.busy()
    write(lastChunk)
    await clock.idle()
    clock.advance(60n * second)
    write(post(ok.length) + ok)
    t.match(await response(), { status: 200 })
  })
})

t.test('HTTP/1.1: the connection of a refused stream ends after the answers before it', async (t) => {
  const goOn = Promise.withResolvers<void>()
  const server = await listeningMatrixApp(t, {
    limits: { request: '1/60' },
    connect: {
      routes: (router) =>
        router.service(MatrixService, { ...matrixService(), undeclared: () => goOn.promise.then(() => ({})) }),
    },
  })
  const { write, response, closed } = await openSocket(t, server.port)
  const admitted = headOf(pathOf('Undeclared'), [...headers, ['content-length', 2]])
  const refused = headOf(pathOf('ClientStream'), [
    ['x-caller', caller.name],
    ['content-type', 'application/connect+json'],
    ['content-length', 1],
  ])
  write(`${admitted}{}${refused}x`)
  await new Promise((resolve) => setTimeout(resolve, 20))
  goOn.resolve()
  t.match(await response(), { status: 200, body: '{}' })
  const { status, body } = await response()
  t.equal(status, 200)
  t.match(JSON.parse(body.slice(5)), { error: { code: 'resource_exhausted' } })
  await closed
})

t.test(
  'HTTP/1.1: an error of identify that Fastify answers later is answered before the connection ends',
  async (t) => {
    const { port } = await listeningMatrixApp(t, {
      allowance: {
        identify() {
          throw new Error('out of order')
        },
      },
      before: (app) =>
        app.setErrorHandler(async () => {
          for (let i = 0; i < 10; i++) await new Promise(setImmediate)
          return { handled: true }
        }),
    })
    const { write, response, closed } = await openSocket(t, port)
    write(
      `${headOf(pathOf('ClientStream'), [
        ['content-type', 'application/connect+json'],
        ['content-length', 1],
      ])}x`,
    )
    t.match(await response(), { body: '{"handled":true}' })
    await closed
  },
)

t.test(
  'HTTP/1.1: of pipelined RPCs, those admitted before the one whose refusal ends the connection are answered',
  async (t) => {
    const { promise: isOpen, resolve: open } = Promise.withResolvers<void>()
    let seen = 0
    const { port } = await listeningMatrixApp(t, {
      limits: { request: '3/60' },
      allowance: { maxDiscardBytes: 0 },
      before: (app) =>
        // So that a refusal is under way before the next request is looked at.
        app.addHook('onRequest', async () => {
          await new Promise(setImmediate)
          if (++seen === 6) setTimeout(open, 20)
        }),
      connect: {
        routes: (router) =>
          router.service(MatrixService, {
            ...matrixService(),
            async unary() {
              await isOpen
              return { text: 'ok' }
            },
          }),
      },
    })
    const connection = await openSocket(t, port)
    const { write, response } = connection
    write((post(ok.length) + ok).repeat(6))
    for (let i = 0; i < 3; i++) t.match(await response(), { status: 200, body: '{"text":"ok"}' })
    const refusal = await response()
    t.same(errorIn(refusal), { status: 429, ...rejectionOf('request', 20_000) })
    t.equal(refusal.headers.connection, 'close')
    t.equal(await closeOf(connection), 'closed, after ""')
  },
)
