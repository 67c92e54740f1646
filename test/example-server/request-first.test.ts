import { fromBinary } from '@bufbuild/protobuf'
import t from 'tap'
import { ErrorInfoSchema, RetryInfoSchema } from '../../src/gen/google/rpc/error_details_pb.ts'
import { StatusSchema } from '../../src/gen/google/rpc/status_pb.ts'
import { LOOPBACK, left, SERVICE, spent, start } from './harness.ts'

const json = { 'content-type': 'application/json' }
const proto = { 'content-type': 'application/proto' }

/** A server on which the loopback has no request left for 1500 ms. */
async function startUsedUp(t: Parameters<typeof start>[0]) {
  const server = await start(t, { request: 40 })
  server.limiter.spend(LOOPBACK, 'request', 40)
  return server
}

t.test('RATE-014: a denied request is a rate-limit rejection whatever else is wrong with it', async (t) => {
  const { urls, limiter, store } = await startUsedUp(t)
  const publish = `${urls.http}/${SERVICE}/Publish`
  const post = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = json) => ({
    method: 'POST',
    headers,
    body,
  })
  const requests: [name: string, url: string, init: RequestInit][] = [
    ['a body that is no JSON', publish, post('{"envelopes":')],
    ['a body of another message', publish, post('{"noSuchField":1}')],
    ['a body out of bounds', `${urls.http}/${SERVICE}/Query`, post('{"topics":[]}')],
    ['a body that is no protobuf', publish, post(Buffer.alloc(9, 255), { 'content-type': 'application/proto' })],
    ['a body that is too long', publish, post('x'.repeat(5_000_000))],
    ['a content type that is not of a protocol', publish, post('hello', { 'content-type': 'text/plain' })],
    ['a content type that is none', publish, post('hello', { 'content-type': 'nonsense' })],
    ['no content type', publish, { method: 'POST' }],
    ['an encoding that is not known', publish, post('{}', { ...json, 'content-encoding': 'snappy' })],
    ['a compressed body that is none', publish, post('{}', { ...json, 'content-encoding': 'gzip' })],
    ['a protocol version that is not known', publish, post('{}', { ...json, 'connect-protocol-version': '9' })],
    ['a timeout that is none', publish, post('{}', { ...json, 'connect-timeout-ms': 'soon' })],
    ['a method that is not allowed', publish, { method: 'DELETE' }],
    ['GET where it is not allowed', `${publish}?connect=v1&encoding=json&message={}`, {}],
    ['GET without a message', `${urls.http}/${SERVICE}/Query`, {}],
  ]
  for (const [name, url, init] of requests) {
    const response = await fetch(url, init)
    t.equal(response.status, 429, name)
    t.equal(response.headers.get('retry-after'), '2', name)
    t.match(await response.text(), /resource_exhausted|rate limit/i, name)
  }
  t.match(limiter.remaining(LOOPBACK, 'request'), [{ units: 0, fullInMs: 60_000 }], 'RATE-022: and charged nothing')
  t.equal(store.count('envelopes'), 0)
})

t.test(
  'RATE-014: admitted, the same mistakes cost their request, and are answered without an error of the server',
  async (t) => {
    const { urls, limiter, logged } = await start(t)
    const publish = `${urls.http}/${SERVICE}/Publish`
    for (const [name, init, status] of [
      ['no JSON', { method: 'POST', headers: json, body: '{"envelopes":' }, 400],
      ['another message', { method: 'POST', headers: json, body: '{"envelopes":7}' }, 400],
      ['protobuf that is cut off', { method: 'POST', headers: proto, body: '[]' }, 400],
      ['gzip that is none', { method: 'POST', headers: { ...proto, 'content-encoding': 'gzip' }, body: '[]' }, 400],
      ['no protocol', { method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'x' }, 415],
      ['DELETE', { method: 'DELETE' }, 405],
    ] as const) {
      const before = left(limiter, LOOPBACK)
      t.equal((await fetch(publish, init)).status, status, name)
      t.same(spent(before, left(limiter, LOOPBACK)), { request: 1 }, name)
    }
    t.notMatch(logged.join(''), /"level":50/)
  },
)

t.test('case 6, case 7: the rejection in the protocol of the request, down to its bytes', async (t) => {
  const { urls } = await startUsedUp(t)
  const query = `${urls.http}/${SERVICE}/Query`
  const get = `${query}?connect=v1&encoding=json&message=${encodeURIComponent('{"topics":["a"]}')}`
  for (const [name, response] of [
    ['GET', await fetch(get)],
    ['POST without a version header', await fetch(query, { method: 'POST', headers: json, body: '{"topics":["a"]}' })],
  ] as const) {
    t.equal(response.status, 429, name)
    const body = (await response.json()) as { code: string; details: { type: string; value: string }[] }
    t.equal(body.code, 'resource_exhausted', name)
    t.match(
      body.details,
      [
        { type: 'google.rpc.ErrorInfo', value: 'CgxSQVRFX0xJTUlURUQSCHhtdHAub3JnGhMKCGNhdGVnb3J5EgdyZXF1ZXN0' },
        { type: 'google.rpc.RetryInfo', value: 'CggIARCAyrXuAQ' },
      ],
      name,
    )
  }

  const stream = await fetch(query, {
    method: 'POST',
    headers: { 'content-type': 'application/connect+json' },
    body: '',
  })
  t.equal(stream.status, 200)
  const frame = Buffer.from(await stream.arrayBuffer())
  t.equal(frame[0], 2, 'the end-of-stream frame and nothing else')
  t.equal(frame.readUInt32BE(1), frame.length - 5)
  t.match(JSON.parse(frame.subarray(5).toString()), { error: { code: 'resource_exhausted' } })

  const web = await fetch(query, {
    method: 'POST',
    headers: { 'content-type': 'application/grpc-web+proto; charset=utf-8', origin: 'https://page.example' },
    body: Buffer.alloc(5),
  })
  t.equal(web.status, 200)
  t.match(web.headers.get('access-control-expose-headers'), /grpc-status/i)
  const trailers = Buffer.from(await web.arrayBuffer()).toString('latin1')
  t.match(web.headers.get('grpc-status') ?? /grpc-status: ?(\d+)/i.exec(trailers)?.[1], '8')
})

t.test('case 6: gRPC of any codec is refused with trailers only', async (t) => {
  const { h2c } = await startUsedUp(t)
  for (const codec of ['', '+proto', '+json', '+other']) {
    const response = await h2c.inject({
      method: 'POST',
      url: `/${SERVICE}/Query`,
      headers: { 'content-type': `application/grpc${codec}`, te: 'trailers' },
      payload: Buffer.alloc(5),
    })
    t.equal(response.statusCode, 200, codec)
    t.equal(String(response.headers['grpc-status']), '8', codec)
    const bin = String(response.headers['grpc-status-details-bin'])
    const { details } = fromBinary(StatusSchema, Buffer.from(bin, 'base64'))
    t.same(
      details.map(({ typeUrl }) => typeUrl),
      ['type.googleapis.com/google.rpc.ErrorInfo', 'type.googleapis.com/google.rpc.RetryInfo'],
    )
    t.match(fromBinary(ErrorInfoSchema, details[0]!.value), {
      reason: 'RATE_LIMITED',
      metadata: { category: 'request' },
    })
    t.match(fromBinary(RetryInfoSchema, details[1]!.value), { retryDelay: { seconds: 1n, nanos: 500_000_000 } })
  }
})

t.test(
  'case 8: a preflight is answered to a caller with nothing left; a denied POST has the headers of an admitted one',
  async (t) => {
    const { urls, limiter, clock } = await start(t, { request: 1 })
    const url = `${urls.http}/${SERVICE}/Query`
    const origin = 'https://page.example'
    const post = () => fetch(url, { method: 'POST', headers: { ...json, origin }, body: '{"topics":["a"]}' })
    const cors = (response: Response) => [...response.headers].filter(([name]) => /^access-control|^vary/.test(name))

    const admitted = await post()
    const denied = await post()
    t.equal(admitted.status, 200)
    t.equal(denied.status, 429)
    t.same(cors(denied), cors(admitted))
    t.equal(denied.headers.get('access-control-allow-origin'), '*')
    const exposed = denied.headers.get('access-control-expose-headers')!.toLowerCase().split(/, */)
    for (const name of ['retry-after', 'grpc-status', 'grpc-message', 'grpc-status-details-bin'])
      t.ok(exposed.includes(name))

    const preflight = await fetch(url, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type,connect-protocol-version,x-api-key,authorization',
      },
    })
    t.equal(preflight.status, 204)
    t.match(preflight.headers.get('access-control-allow-headers'), /X-Api-Key/)
    clock.advance(60_000_000_000n)
    t.match(limiter.remaining(LOOPBACK, 'request'), [{ units: 1 }], 'the preflight was charged nothing')

    const missing = await fetch(`${urls.http}/nowhere`, { headers: { origin } })
    t.equal(missing.status, 404)
    t.equal(missing.headers.get('access-control-allow-origin'), '*', 'a page can read that there is nothing')
  },
)
