import { Code, ConnectError } from '@connectrpc/connect'
import t, { type Test } from 'tap'
import { ErrorInfoSchema } from '../src/gen/google/rpc/error_details_pb.ts'
import type { Caller, Identify } from '../src/index.ts'
import { apiKey } from './support/limiter-of.ts'
import { listeningMatrixApp, matrixApp, pathOf } from './support/matrix-app.ts'
import { matrixClients } from './support/matrix-clients.ts'
import { headOf, openSocket } from './support/raw-http1.ts'
import { openSession, request, responseTo, send } from './support/raw-http2.ts'

const json = { 'content-type': 'application/json' }
const call = { method: 'POST', url: pathOf('Undeclared'), headers: json, payload: '{}' } as const

const refuse = (): never => {
  throw new ConnectError('the credentials are no good', Code.Unauthenticated, { 'www-authenticate': 'Bearer' })
}
const ways: Record<string, Identify> = {
  thrown: refuse,
  'rejected at once': async () => refuse(),
  'rejected later': () =>
    new Promise((_, reject) =>
      setImmediate(() => reject(new ConnectError('the credentials are no good', Code.Unauthenticated))),
    ),
}

for (const http2 of [false, true]) {
  t.test(
    `case 14: an authentication error reaches every client in its own protocol, over ${http2 ? 'HTTP/2' : 'HTTP/1.1'}`,
    async (t) => {
      for (const [way, identify] of Object.entries(ways)) {
        const { url, limiter, called } = await listeningMatrixApp(t, { http2, allowance: { identify } })
        const clients = matrixClients(url, http2)
        t.teardown(() => {
          for (const { close } of clients) close?.()
        })
        const before = limiter.remaining({ type: 'ip', address: '127.0.0.1' }, 'request')
        for (const client of clients) {
          for (const kind of client.kinds) {
            const { error, received } = await client.call(kind, {})
            t.match(
              { ...error, received },
              { code: 'unauthenticated', message: 'the credentials are no good', details: [], received: [] },
              `${client.name}, ${kind}, ${way}`,
            )
          }
        }
        t.same(called, [])
        t.same(limiter.remaining({ type: 'ip', address: '127.0.0.1' }, 'request'), before, 'nothing is charged')
      }
    },
  )
}

t.test('case 14: the raw answer is no 500, and keeps metadata and details of the error', async (t) => {
  const identify: Identify = () => {
    const detail = { desc: ErrorInfoSchema, value: { reason: 'WHY' } }
    throw new ConnectError('no', Code.PermissionDenied, { 'www-authenticate': 'Bearer', 'x-more': 'yes' }, [detail])
  }
  const { app } = await matrixApp(t, { allowance: { identify } })
  const unary = await app.inject(call)
  t.equal(unary.statusCode, 403)
  t.match(unary.headers, { 'www-authenticate': 'Bearer', 'x-more': 'yes' })
  t.match(unary.json(), { code: 'permission_denied', message: 'no', details: [{ type: 'google.rpc.ErrorInfo' }] })

  const grpc = await app.inject({ ...call, headers: { 'content-type': 'application/grpc' }, payload: '' })
  t.equal(grpc.statusCode, 200)
  t.match(grpc.headers, { 'grpc-status': '7', 'grpc-message': 'no', 'x-more': 'yes' })

  const { app: bare } = await matrixApp(t, { allowance: { identify: refuse } })
  const rows = [
    ['GET', { method: 'GET', url: `${pathOf('Unary')}?connect=v1&encoding=json&message=%7B%7D` }],
    ['a malformed body', { ...call, payload: '{' }],
    ['no content type', { method: 'POST', url: pathOf('Unary') }],
  ] as const
  for (const [what, request] of rows) t.equal((await bare.inject(request)).statusCode, 401, what)
  t.equal((await bare.inject({ ...call, url: pathOf('Free') })).statusCode, 200, 'a free RPC asks for no credentials')
  t.equal((await bare.inject({ ...call, url: '/nobody.Here/Call' })).statusCode, 404)
  t.equal((await bare.inject({ ...call, method: 'OPTIONS' })).statusCode, 405)
})

t.test('case 9: 1000 calls with forged tokens leave the allowance of victim and address unchanged', async (t) => {
  const victim: Caller = { type: 'jwt', iss: 'issuer', sub: 'victim' }
  const { app, limiter } = await matrixApp(t, {
    limits: { request: '10/60' },
    allowance: { identify: async ({ headers }) => (headers.authorization === 'Bearer true' ? victim : refuse()) },
  })
  for (let i = 0; i < 1000; i++) {
    const answer = await app.inject({ ...call, headers: { ...json, authorization: `Bearer forged ${i}` } })
    if (answer.statusCode !== 401) t.fail(`HTTP ${answer.statusCode}`)
  }
  t.equal(limiter.remaining(victim, 'request')[0]!.units, 10)
  t.equal(limiter.remaining({ type: 'ip', address: '127.0.0.1' }, 'request')[0]!.units, 10)
  t.equal((await app.inject({ ...call, headers: { ...json, authorization: 'Bearer true' } })).statusCode, 200)
  t.equal(limiter.remaining(victim, 'request')[0]!.units, 9)
})

t.test('other errors of identify go to the error handler of Fastify, and charge nothing', async (t) => {
  const teapot = Object.assign(new Error('short and stout'), { statusCode: 418 })
  const rows: [string, Identify, number, RegExp][] = [
    [
      'thrown',
      () => {
        throw teapot
      },
      418,
      /short and stout/,
    ],
    ['rejected', () => Promise.reject(teapot), 418, /short and stout/],
    [
      'a plain error',
      () => {
        throw new Error('a bug')
      },
      500,
      /a bug/,
    ],
    [
      'a string',
      () => {
        throw 'a string'
      },
      500,
      /identify threw what is no Error/,
    ],
    ['nothing, rejected', () => Promise.reject(), 500, /identify threw what is no Error/],
  ]
  for (const [what, identify, status, message] of rows) {
    const { app, limiter, called } = await matrixApp(t, { limits: { request: '1/60' }, allowance: { identify } })
    const answer = await app.inject(call)
    t.equal(answer.statusCode, status, what)
    t.match(answer.body, message)
    t.equal(limiter.remaining({ type: 'ip', address: '127.0.0.1' }, 'request')[0]!.units, 1)
    t.same(called, [])
  }
})

t.test(
  'what is no identity is an error of the app: it is not charged to anybody, and says nothing of the value',
  async (t) => {
    const secret = 'sk-secret'
    const wrong = [
      secret,
      42,
      false,
      '',
      {},
      [],
      { type: 'api_key' },
      { type: 'api_key', name: 7 },
      { type: 'user', name: secret },
      { type: 'jwt', iss: secret, sub: null },
      { type: 'jwt', iss: null, sub: secret },
      { type: 'ip', address: secret },
      { type: 'ip', address: '010.0.0.1' },
    ]
    for (const value of wrong) {
      for (const identify of [() => value, async () => value]) {
        const lines: string[] = []
        const logger = { stream: { write: (line: string) => lines.push(line) } }
        const { app, limiter, called } = await matrixApp(t, {
          limits: { request: '1/60' },
          fastify: { logger },
          allowance: { identify: identify as unknown as Identify },
        })
        const answer = await app.inject(call)
        t.equal(answer.statusCode, 500, JSON.stringify(value))
        t.match(answer.json().message, /^identify returned no identity: caller/)
        t.equal(limiter.remaining({ type: 'ip', address: '127.0.0.1' }, 'request')[0]!.units, 1)
        t.notOk(answer.body.includes(secret))
        t.notOk(lines.join('').includes(secret))
        t.same(called, [])
      }
    }
  },
)

t.test('a promise of another kind is waited for too', async (t) => {
  const caller = apiKey('later')
  // biome-ignore lint/suspicious/noThenProperty: a promise as other libraries make it
  const identify = (() => ({ then: (resolve: (value: Caller) => void) => resolve(caller) })) as unknown as Identify
  const { app, limiter } = await matrixApp(t, { limits: { request: '2/60' }, allowance: { identify } })
  t.equal((await app.inject(call)).statusCode, 200)
  t.equal(limiter.remaining(caller, 'request')[0]!.units, 1)
})

t.test('case 14: of an error that came from an upstream only code, message and details go out', async (t) => {
  const ofUpstream = { 'set-cookie': 'a=b', 'x-upstream': 'yes', 'retry-after': '7' }
  for (const metadata of [ofUpstream, { ...ofUpstream, 'transfer-encoding': 'chunked' }])
    await onlyTheError(t, metadata)
})

const onlyTheError = async (t: Test, metadata: Record<string, string>) => {
  const identify: Identify = async () => {
    const detail = { desc: ErrorInfoSchema, value: { reason: 'WHY' } }
    const error = new ConnectError('no', Code.PermissionDenied, metadata, [detail])
    error.isWireError = true
    throw error
  }
  for (const http2 of [false, true]) {
    const { url, app } = await listeningMatrixApp(t, {
      http2,
      allowance: { identify },
      after: (app) => app.get('/plain', (request) => request.spend('request', 1)),
    })
    const clients = matrixClients(url, http2)
    for (const client of clients) {
      for (const kind of client.kinds) {
        const { error } = await client.call(kind, {})
        t.match(
          error,
          { code: 'permission_denied', message: 'no', details: [{ reason: 'WHY' }], retryAfter: undefined },
          `${client.name}, ${kind}`,
        )
      }
      client.close?.()
    }
    const unary = await app.inject(call)
    t.equal(unary.statusCode, 403)
    for (const answer of [unary, await app.inject('/plain')]) {
      for (const name of Object.keys(metadata)) {
        // Node itself says this one for a plain answer.
        if (name !== 'transfer-encoding') t.notOk(name in answer.headers, name)
      }
    }
  }
}

/** Every client reads the error. */
const allReadNo = async (t: Test, url: string, http2: boolean) => {
  for (const client of matrixClients(url, http2)) {
    for (const kind of client.kinds) {
      const { error } = await client.call(kind, {})
      t.match(error, { code: 'permission_denied', message: 'no' }, `${client.name}, ${kind}`)
    }
    client.close?.()
  }
}

t.test('metadata of an error that belong to a connection, or to the answer, do not go out', async (t) => {
  const identify: Identify = () => {
    throw new ConnectError('no', Code.PermissionDenied, {
      connection: 'upgrade',
      'content-length': '7',
      'keep-alive': 'timeout=7',
      te: 'gzip',
      trailer: 'x-more',
      'transfer-encoding': 'gzip',
      upgrade: 'h2c',
      'x-more': 'yes',
    })
  }
  for (const http2 of [false, true]) {
    const { url } = await listeningMatrixApp(t, { http2, allowance: { identify } })
    await allReadNo(t, url, http2)
    const { headers } = http2
      ? await send(openSession(t, url), call.url, json, '{}')
      : {
          headers: Object.fromEntries(
            (await fetch(url + call.url, { method: 'POST', headers: json, body: '{}' })).headers,
          ),
        }
    t.equal(headers['x-more'], 'yes')
    for (const name of ['upgrade', 'trailer', 'transfer-encoding', 'te']) t.notOk(name in headers, name)
    if (http2) t.notOk('content-length' in headers, 'content-length')
  }
})

t.test('a server closes after identify failed on a request whose body does not end', async (t) => {
  const identify: Identify = () => {
    throw new Error('out of order')
  }
  for (const path of ['Unary', 'Bidi']) {
    const h1 = await listeningMatrixApp(t, { allowance: { identify, maxDiscardBytes: 1000 } })
    const { write, socket, response } = await openSocket(t, h1.port)
    write(
      headOf(pathOf(path), [
        ['content-type', 'application/json'],
        ['content-length', 2000],
      ]),
    )
    const refusal = await response()
    t.match(refusal, { status: 500, headers: { connection: 'close' } })
    t.equal(socket.destroyed, false)
    await h1.app.close()

    const h2 = await listeningMatrixApp(t, { http2: true, allowance: { identify, maxDiscardBytes: 1000 } })
    const stream = request(openSession(t, h2.url), pathOf(path), { ...json, 'content-length': '2000' })
    t.match(await responseTo(stream), { status: 500 })
    await h2.app.close()
    t.pass(`${path}: closed`)
  }
})

t.test('metadata that no answer can carry is left out of it', async (t) => {
  const identify: Identify = () => {
    throw new ConnectError('no', Code.PermissionDenied, { 'x-claim': 'a\u0001b', 'x-more': 'yes' })
  }
  for (const http2 of [false, true]) {
    const { url } = await listeningMatrixApp(t, { http2, allowance: { identify } })
    await allReadNo(t, url, http2)
  }
})
