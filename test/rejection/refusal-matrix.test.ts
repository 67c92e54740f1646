import { create, toBinary } from '@bufbuild/protobuf'
import t from 'tap'
import { MatrixRequestSchema } from '../gen/test/v1/matrix_pb.ts'
import { apiKey } from '../support/limiter-of.ts'
import { listeningMatrixApp, pathOf } from '../support/matrix-app.ts'
import { type Kind, type MatrixClient, matrixClients, type Outcome } from '../support/matrix-clients.ts'
import { openSession, send } from '../support/raw-http2.ts'
import { ofGrpcTrailers, rejectionOf } from '../support/rejection.ts'
import { envelope, envelopesOf, trailersIn } from '../support/wire.ts'

const limits = { request: '2/3', work: '3/60', step: '1/7' }

/** A place where a call can be denied. */
interface Place {
  readonly name: string
  /** What its caller has spent already, all that it may. */
  readonly spent: readonly [category: string, units: number]
  readonly headers: Record<string, string>
  /** Such that no delay is the limit's own window. */
  readonly retryDelayMs: number
  /** What the client gets before it is denied, by kind of RPC. */
  readonly received: Record<Kind, readonly string[]>
  /** Whether the handler starts: a stream's has, when a later message is denied. */
  readonly handled: (kind: Kind) => boolean
}

const places: readonly Place[] = [
  {
    name: 'in onRequest',
    spent: ['request', 2],
    headers: {},
    retryDelayMs: 1500,
    received: { Unary: [], ServerStream: [], ClientStream: [], Bidi: [] },
    handled: () => false,
  },
  {
    name: 'by what the message counts',
    spent: ['work', 3],
    headers: {},
    retryDelayMs: 20_000,
    received: { Unary: [], ServerStream: [], ClientStream: [], Bidi: ['0 items'] },
    handled: (kind) => kind === 'ClientStream' || kind === 'Bidi',
  },
  {
    name: 'inside the handler',
    spent: ['step', 1],
    headers: { 'x-step': 'one' },
    retryDelayMs: 7000,
    received: { Unary: [], ServerStream: ['1 items'], ClientStream: [], Bidi: ['0 items', '1 items'] },
    handled: () => true,
  },
]

for (const http2 of [false, true]) {
  const version = http2 ? 'HTTP/2' : 'HTTP/1.1'

  t.test(`RATE-040, the refusal matrix over ${version}`, async (t) => {
    const { url, limiter, called, left } = await listeningMatrixApp(t, { http2, limits })
    const clients = matrixClients(url, http2)
    t.teardown(() => {
      for (const client of clients) client.close?.()
    })
    let cells = 0

    const callAs = async (client: MatrixClient, kind: Kind, place?: Place): Promise<[Outcome, string]> => {
      const caller = `caller of cell ${++cells}`
      if (place !== undefined) limiter.spend(apiKey(caller), ...place.spent)
      called.length = 0
      return [await client.call(kind, { 'x-caller': caller, ...place?.headers }), caller]
    }

    for (const client of clients) {
      for (const kind of client.kinds) {
        // Connect servers answer 505 to a bidi stream over HTTP/1.1; only the request itself is charged there.
        const runs = http2 || kind !== 'Bidi'

        for (const place of runs ? places : places.slice(0, 1)) {
          t.test(`${version}, ${client.name}, ${kind}, denied ${place.name}`, async (t) => {
            const [outcome, caller] = await callAs(client, kind, place)
            const [category, units] = place.spent
            t.same(outcome.error, rejectionOf(category, place.retryDelayMs), 'code, message, details and Retry-After')
            t.same(outcome.received, place.received[kind], 'what came before')
            t.same(called, place.handled(kind) ? [kind] : [], 'the handler ran only if nothing was denied before it')
            t.equal(left(caller, category), 0, 'a denial charges nothing')
            t.equal(left(caller), category === 'request' ? 2 - units : 1, 'and keeps the request unit')
          })
        }

        if (!runs) continue
        t.test(`${version}, ${client.name}, ${kind}, admitted`, async (t) => {
          const [outcome, caller] = await callAs(client, kind)
          t.equal(outcome.error, undefined)
          t.same(called, [kind])
          t.equal(left(caller), 1, 'one unit of request')
          t.equal(left(caller, 'work'), 2, 'and one of work')
        })
      }
    }
  })
}

/**
 * Connect's servers take no request in the base64 form of gRPC-Web: they answer 415 before they decode it. So a client
 * that speaks it can be denied in onRequest only, and then must read the rejection in its own form.
 */
for (const http2 of [false, true]) {
  const version = http2 ? 'HTTP/2' : 'HTTP/1.1'

  t.test(`RATE-040, gRPC-Web in base64 over ${version}`, async (t) => {
    const { app, url, limiter, called, left } = await listeningMatrixApp(t, { http2, limits })
    const session = http2 ? openSession(t, url) : undefined
    const ask = async (place: Place | undefined, caller: string, type: string) => {
      if (place !== undefined) limiter.spend(apiKey(caller), ...place.spent)
      const headers = { 'x-caller': caller, 'content-type': type, ...place?.headers }
      const body = envelope(toBinary(MatrixRequestSchema, create(MatrixRequestSchema, { items: ['one'] }))).toString(
        'base64',
      )
      if (session !== undefined) return send(session, pathOf('Unary'), headers, body)
      const { statusCode, rawPayload } = await app.inject({
        method: 'POST',
        url: pathOf('Unary'),
        headers,
        payload: body,
      })
      return { status: statusCode, body: rawPayload }
    }

    for (const type of ['application/grpc-web-text', 'application/grpc-web-text+proto']) {
      for (const place of [undefined, ...places]) {
        t.test(
          `${type}, ${place === undefined ? 'admitted' : `with nothing left to be denied ${place.name}`}`,
          async (t) => {
            const caller = `${type} ${place?.name}`
            const { status, body } = await ask(place, caller, type)
            t.same(called, [], 'no handler runs')
            if (place?.spent[0] === 'request') {
              t.equal(status, 200)
              const [trailers, ...more] = envelopesOf(Buffer.from(body.toString(), 'base64'))
              t.same(ofGrpcTrailers(trailersIn(trailers!.data)), rejectionOf('request', place.retryDelayMs))
              t.equal(trailers!.flags, 0x80)
              t.same(more, [])
            } else {
              t.equal(status, 415, 'refused by the server itself')
              t.equal(left(caller), 1, 'which costs the unit of request, spent before')
              t.equal(left(caller, 'work'), place?.spent[0] === 'work' ? 0 : 3, 'and nothing more')
            }
          },
        )
      }
    }
  })
}
