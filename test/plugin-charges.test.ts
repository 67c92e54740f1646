import { ConnectError, createClient, type HandlerContext } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-node'
import t from 'tap'
import { allowanceOf } from '../src/index.ts'
import { ChargedService } from './gen/test/v1/charged_pb.ts'
import { MatrixService } from './gen/test/v1/matrix_pb.ts'
import { apiKey } from './support/limiter-of.ts'
import {
  callerHeader,
  listeningMatrixApp,
  type MatrixApp,
  matrixApp,
  matrixService,
  pathOf,
  rateLimits,
} from './support/matrix-app.ts'
import { ofConnectError, ofConnectJson, rejectionOf } from './support/rejection.ts'

const json = { 'content-type': 'application/json' }
const name = 'someone'
const someone = apiKey(name)
const headers = { ...json, 'x-caller': name }

/** One message of a Connect stream. */
const connectFrame = (message: string) => {
  const head = Buffer.alloc(5)
  head.writeUInt32BE(Buffer.byteLength(message), 1)
  return Buffer.concat([head, Buffer.from(message)])
}

const post = ({ app }: MatrixApp, rpc: string, payload = '{}') =>
  app.inject({ method: 'POST', url: pathOf(rpc), headers, payload })

t.test('RATE-010: a call is charged before its handler, and a denied one never reaches it', async (t) => {
  const seen: [number, number][] = []
  const limits = { request: '10/60', work: '3/60' }
  const server: MatrixApp = await matrixApp(t, {
    limits,
    connect: {
      routes: (router) =>
        router.service(MatrixService, {
          ...matrixService(),
          unary() {
            seen.push([server.left(name), server.left(name, 'work')])
            return {}
          },
        }),
    },
  })
  t.equal((await post(server, 'Unary', '{"items":["a","b"]}')).statusCode, 200)
  t.same(seen, [[9, 1]], 'the handler finds both charges made')
  t.equal((await post(server, 'Unary', '{"items":["a","b"]}')).statusCode, 429)
  t.equal((await post(server, 'Unary', '{"items":[]}')).statusCode, 200, 'a cost of 0 is admitted')
  t.same(seen, [
    [9, 1],
    [7, 1],
  ])
  t.equal(server.left(name), 7, 'each call kept its request unit')
  t.equal(server.left(name, 'work'), 1, 'the denied one nothing else')
})

t.test('RATE-010: charges are made in their order, stop at the first denial, and the earlier are kept', async (t) => {
  const called: string[] = []
  const denied: string[] = []
  const { app, limiter, left } = await matrixApp(t, {
    allowance: {
      onDenied: ({ category }) => denied.push(category),
      rateLimits: rateLimits({
        request: '100/60',
        publish: '10/60',
        identity_update: '2/60',
        chain_verify: '10/60',
        compute: '1/60',
      }),
    },
    connect: {
      routes: (router) =>
        router.service(ChargedService, {
          publish: () => {
            called.push('publish')
            return {}
          },
        }),
    },
  })
  const publish = (updates: number) =>
    app.inject({
      method: 'POST',
      url: `/${ChargedService.typeName}/Publish`,
      headers,
      payload: JSON.stringify({
        envelopes: Array.from({ length: updates }, () => ({ identityUpdate: { signatures: [{ erc6492: {} }] } })),
      }),
    })
  const charged = () => [
    100 - left(name),
    ...['publish', 'identity_update', 'chain_verify'].map((category) => 10 - left(name, category)),
  ]

  t.equal((await publish(2)).statusCode, 200)
  t.same(charged(), [1, 2, 10, 2])
  const refused = await publish(1)
  t.same(ofConnectJson(refused.json(), refused.headers['retry-after']), rejectionOf('identity_update', 30_000))
  t.same(charged(), [2, 3, 10, 2], 'publish was charged, chain_verify no more')

  limiter.spend(someone, 'publish', 7)
  const all = await publish(1)
  t.same(ofConnectJson(all.json(), all.headers['retry-after']), rejectionOf('publish', 6000), 'the first denial counts')
  t.same(denied, ['identity_update', 'publish'])
  t.same(called, ['publish'])
  t.equal((await publish(0)).statusCode, 429, 'at_least 1 counts for an empty message')
})

t.test('RATE-010: a stream pays for each message before its handler receives it', async (t) => {
  const { url, limiter, clock } = await listeningMatrixApp(t, { http2: true, limits: { work: '3/60' } })
  const client = createClient(MatrixService, createConnectTransport({ baseUrl: url, httpVersion: '2' }))
  async function* messages() {
    yield { items: ['a'] }
    yield { items: [] }
    yield { items: ['a', 'b'] }
    yield { items: ['one too many'] }
    yield { items: [] }
  }
  const received: string[] = []
  const call = async () => {
    for await (const { text } of client.bidi(messages(), { headers: { 'x-caller': name } })) received.push(text)
  }
  const error = await call().then(() => undefined, ofConnectError)
  t.same(error, rejectionOf('work', 20_000))
  t.same(received, ['1 items', '0 items', '2 items'])
  t.equal(limiter.remaining(someone, 'work')[0]!.units, 0)
  clock.advance(20_000_000_000n)
  t.equal(limiter.remaining(someone, 'work')[0]!.units, 1, 'the messages before were paid')
})

t.test('RATE-011: only what the category table gives is charged', async (t) => {
  const server = await listeningMatrixApp(t, {
    limits: {
      request: '100/60',
      work: '100/60',
      step: '100/60',
      publish: '100/60',
      upload: '100/60',
      compute: '100/60',
    },
    allowance: {
      identify: (request) => {
        if (request.headers['x-caller'] === 'forged') throw new ConnectError('no', 16)
        return callerHeader(request)
      },
    },
    connect: {
      routes: (router) => {
        const { free, undeclared, unary, step } = matrixService()
        // ServerStream, ClientStream and Bidi are declared and not implemented
        router.service(MatrixService, { free, undeclared, unary, step })
        router.service(ChargedService, {})
      },
    },
  })
  const { app, limiter } = server
  const victims = [someone, { type: 'ip', address: '127.0.0.1' } as const]
  const left = () =>
    victims.map((caller) =>
      ['request', 'work', 'step', 'publish', 'upload', 'compute', 'stream_rent'].map(
        (category) => limiter.remaining(caller, category)[0]!.units,
      ),
    )
  const untouched = left()

  const rows = [
    ['a free RPC', 200, { method: 'POST', url: pathOf('Free'), headers, payload: '{}' }],
    ['a free RPC with a malformed body', 400, { method: 'POST', url: pathOf('Free'), headers, payload: '{' }],
    ['a preflight', 405, { method: 'OPTIONS', url: pathOf('Unary'), headers }],
    ['a path that no service implements', 404, { method: 'POST', url: '/test.v1.Other/Unary', headers, payload: '{}' }],
    [
      'a method that its service does not declare',
      404,
      { method: 'POST', url: pathOf('Other'), headers, payload: '{}' },
    ],
    ['a path in other letters', 404, { method: 'POST', url: pathOf('unary'), headers, payload: '{}' }],
    [
      'a declared method that nobody implemented',
      200,
      {
        method: 'POST',
        url: pathOf('ServerStream'),
        headers: { ...headers, 'content-type': 'application/connect+json' },
        payload: connectFrame('{"items":["a","b"]}'),
      },
    ],
    [
      'a declared unary method that nobody implemented',
      501,
      {
        method: 'POST',
        url: `/${ChargedService.typeName}/Weighted`,
        headers,
        payload: '{"labels":{"1":"b"}}',
      },
    ],
    [
      'forged credentials',
      401,
      { method: 'POST', url: pathOf('Unary'), headers: { ...json, 'x-caller': 'forged' }, payload: '{}' },
    ],
  ] as const
  for (const [what, status, request] of rows) {
    const answer = await app.inject(request)
    t.equal(answer.statusCode, status, what)
    t.same(left(), untouched, `${what}: nothing is charged`)
  }

  t.equal((await post(server, 'Undeclared')).statusCode, 200)
  t.equal((await post(server, 'Step')).statusCode, 200)
  t.equal((await post(server, 'Unary', '{"items":["a","a"]}')).statusCode, 200)
  const [request = 0, work = 0, step = 0, ...rest] = untouched[0]!
  t.same(left()[0], [request - 3, work - 2, step - 1, ...rest], 'and what is charged, is charged what the table says')
})

t.test('RATE-011: only the first message of a server stream is paid, as its client may send one only', async (t) => {
  const server = await matrixApp(t, { limits: { request: '100/60', work: '100/60' } })
  const answer = await server.app.inject({
    method: 'POST',
    url: pathOf('ServerStream'),
    headers: { ...headers, 'content-type': 'application/connect+json' },
    payload: Buffer.concat([connectFrame('{"items":["a"]}'), connectFrame('{"items":["a","b","c"]}')]),
  })
  t.match(answer.body, 'received extra input message')
  t.same(server.called, [])
  t.same([server.left(name), server.left(name, 'work')], [99, 99])
})

t.test('RATE-011: a handler that rejects its request keeps the charge and is charged nothing more', async (t) => {
  const server = await matrixApp(t, {
    limits: { request: '100/60', work: '100/60' },
    connect: {
      routes: (router) =>
        router.service(MatrixService, {
          ...matrixService(),
          unary: () => {
            throw new ConnectError('no such thing', 5)
          },
        }),
    },
  })
  t.equal((await post(server, 'Unary', '{"items":["a"]}')).statusCode, 404)
  t.same([server.left(name), server.left(name, 'work')], [99, 99])
  t.equal((await post(server, 'Unary', '{"items":')).statusCode, 400)
  t.same([server.left(name), server.left(name, 'work')], [98, 99], 'what cannot be decoded costs its request unit')
})

t.test('RATE-012: while disabled nothing is denied', async (t) => {
  const limits = { ...rateLimits({ request: '1/60', work: '1/60', step: '1/60' }), enabled: false }
  const server = await matrixApp(t, { allowance: { rateLimits: limits } })
  for (let i = 0; i < 20; i++) {
    t.equal((await post(server, 'Unary', '{"items":["a","b","c"]}')).statusCode, 200)
    t.equal((await post(server, 'Step')).statusCode, 200)
  }
  t.equal(server.called.length, 40)
  t.same(server.limiter.remaining(someone, 'request'), [])
})

t.test('a handler finds the caller of its request', async (t) => {
  const seen: unknown[] = []
  const server = await matrixApp(t, {
    connect: {
      routes: (router) =>
        router
          .rpc(MatrixService.method.unary, (_, context) => {
            seen.push(allowanceOf(context).caller)
            return {}
          })
          .rpc(MatrixService.method.free, (_, context) => {
            seen.push(allowanceOf(context).caller)
            return {}
          }),
    },
  })
  await post(server, 'Unary')
  await post(server, 'Free')
  t.same(seen, [someone, undefined], 'in a free RPC nobody has asked who calls')
})

t.test('RATE-011: a handler spends no category that its RPC does not declare by_handler', async (t) => {
  const lines: string[] = []
  const errors: Error[] = []
  const spend = async (context: HandlerContext, category: string) => {
    await allowanceOf(context)
      .spend(category, 1)
      .catch((error: Error) => errors.push(error))
  }
  const server = await matrixApp(t, {
    fastify: { logger: { level: 'error', stream: { write: (line: string) => lines.push(line) } } },
    limits: { request: '100/60', work: '100/60', step: '100/60', push: '100/60' },
    connect: {
      routes: (router) =>
        router.service(MatrixService, {
          async unary(_, context) {
            for (const category of ['work', 'request', 'push', 'step']) await spend(context, category)
            return {}
          },
          async free(_, context) {
            await spend(context, 'step')
            return {}
          },
          async *serverStream(_, context) {
            await spend(context, 'stream_rent')
            yield {}
          },
          async undeclared(_, context) {
            await allowanceOf(context).spend('step', 1)
            return {}
          },
        }),
    },
  })
  const left = () => ['request', 'work', 'step', 'push'].map((category) => server.left(name, category))

  t.equal((await post(server, 'Unary')).statusCode, 200)
  t.same(left(), [99, 100, 99, 100], 'the declared one is spent, and the unit of the call')
  const names = errors.map(({ message }) =>
    /^the handler of (\S+) cannot spend category ("\w+")/.exec(message)?.slice(1),
  )
  t.same(
    names,
    ['work', 'request', 'push'].map((category) => ['test.v1.MatrixService/Unary', `"${category}"`]),
  )
  t.match(errors[2]!.message, '(allowance.v1.charge) = { category: "push" by_handler: true } in the .proto')
  t.match(errors[2]!.message, '{ category: "push", byHandler: true } in the option charges')
  t.match(
    lines.map((line) => JSON.parse(line)),
    errors.map(({ message }) => ({ msg: 'spend failed', err: { message } })),
    'the app is told',
  )

  errors.length = 0
  t.equal((await post(server, 'Free')).statusCode, 200)
  t.match(errors, [
    { message: /^the handler of test\.v1\.MatrixService\/Free cannot spend category "step".* is free now/ },
  ])
  t.equal((await post(server, 'Undeclared')).statusCode, 500)
  const stream = { ...headers, 'content-type': 'application/connect+json' }
  await server.app.inject({ method: 'POST', url: pathOf('ServerStream'), headers: stream, payload: connectFrame('{}') })
  t.match(errors[1]!.message, '"stream_rent"')
  t.same(left(), [97, 100, 99, 100], 'nothing but the units of the two calls')
})

t.test('a hook of an RPC spends what it likes by request.spend', async (t) => {
  const server = await matrixApp(t, {
    limits: { push: '100/60' },
    before: (app) => app.addHook('preHandler', (request) => request.spend('push', 2)),
  })
  t.equal((await post(server, 'Free')).statusCode, 200)
  t.equal(server.left(name, 'push'), 98)
})

t.test('RATE-011: a gate of the router spends no more than a handler', async (t) => {
  const server = await matrixApp(t, {
    limits: { push: '100/60', step: '100/60' },
    connect: {
      requestGate: async (context) => {
        await allowanceOf(context).spend('step', 1)
        await allowanceOf(context).spend('push', 1)
      },
    },
  })
  t.equal((await post(server, 'Unary')).statusCode, 500)
  t.same([server.left(name, 'step'), server.left(name, 'push')], [99, 100])
})
