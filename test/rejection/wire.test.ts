import t, { type Test } from 'tap'
import { asksDenied, deniedCaller, type Raw, type RequestOf } from '../support/asks-denied.ts'
import { domain, listeningMatrixApp, pathOf } from '../support/matrix-app.ts'
import { openSession, send } from '../support/raw-http2.ts'
import { ofConnectJson, ofGrpcTrailers, rejectionOf, statusOf } from '../support/rejection.ts'
import { envelope, envelopesOf, trailersIn } from '../support/wire.ts'

const denied = rejectionOf('request', 1500)
const readsConnectUnary = (t: Test, { status, headers, body }: Raw) => {
  t.equal(status, 429, 'HTTP 429')
  t.equal(headers['content-type'], 'application/json')
  t.same(ofConnectJson(JSON.parse(body.toString()), headers['retry-after']), denied)
}

const readsConnectStream = (t: Test, { status, headers, body }: Raw, type: string) => {
  t.equal(status, 200, 'HTTP 200')
  t.equal(headers['content-type'], type)
  const [end, ...more] = envelopesOf(body)
  t.same(more, [], 'one message')
  t.equal(end?.flags, 0b10, 'which ends the stream')
  const { error, metadata } = JSON.parse(String(end?.data))
  t.same(ofConnectJson(error, metadata?.['retry-after']?.[0]), denied)
}

const readsGrpc = (t: Test, { status, headers, trailers, body }: Raw, type: string) => {
  t.equal(status, 200, 'HTTP 200')
  t.equal(headers['content-type'], type)
  t.equal(headers['grpc-status'], '8')
  t.same(ofGrpcTrailers(headers), denied)
  t.equal(body.length, 0, 'no body')
  t.same(trailers, {}, 'trailers only: all is in the headers')
}

const readsGrpcWeb = (t: Test, { status, headers, body }: Raw, type: string) => {
  t.equal(status, 200, 'HTTP 200')
  t.equal(headers['content-type'], type)
  const [frame, ...more] = envelopesOf(body)
  t.same(more, [], 'one frame')
  t.equal(frame?.flags, 0b1000_0000, 'of trailers, in the body')
  t.equal(trailersIn(frame!.data)['grpc-status'], '8')
  t.same(ofGrpcTrailers(trailersIn(frame!.data)), denied)
  t.equal(headers['grpc-status'], undefined, 'nothing that only a CORS header would let a page read')
}

t.test('RATE-040, case 6: each content type is answered in its own protocol', async (t) => {
  const connectGet = `${pathOf('Unary')}?connect=v1&encoding=json&message=${encodeURIComponent('{}')}`
  for (const [version, ask] of await asksDenied(t)) {
    t.test(`${version}: Connect unary`, async (t) => {
      const requests: Record<string, RequestOf> = {
        'GET with a message': { method: 'GET', path: connectGet },
        'GET in binary': { method: 'GET', path: `${pathOf('Unary')}?connect=v1&encoding=proto&base64=1&message=` },
        'POST application/json without a version header': { type: 'application/json', body: '{}' },
        'with a charset': { type: 'application/json; charset=utf-8', body: '{}' },
        'in capitals': { type: 'APPLICATION/JSON', body: '{}' },
        'application/proto': { type: 'application/proto', body: '' },
        'a codec that nobody knows': { type: 'application/yaml', body: 'a: b' },
        'a form': { type: 'application/x-www-form-urlencoded', body: 'a=b' },
        'text/plain': { type: 'text/plain', body: 'hello' },
        'no content type': {},
        'no content type, with a body': { body: 'hello' },
        'an empty content type': { type: '' },
        'no type at all': { type: '; charset=utf-8', body: '{}' },
        'one that only begins like gRPC': { type: 'application/grpcx', body: '{}' },
        'one that only ends like gRPC': { type: 'text/application/grpc', body: '{}' },
        'PUT application/json': { method: 'PUT', type: 'application/json', body: '{}' },
        'JSON that is none': { type: 'application/json', body: '{"items":' },
      }
      for (const [name, request] of Object.entries(requests)) {
        t.test(name, async (t) => readsConnectUnary(t, await ask(request)))
      }
    })

    t.test(`${version}: Connect streaming`, async (t) => {
      const types = {
        'application/connect+json': 'application/connect+json',
        'application/connect+proto': 'application/connect+proto',
        'application/connect+proto; charset=utf-8': 'application/connect+proto',
        'Application/Connect+JSON': 'application/connect+json',
        'application/connect+other': 'application/connect+json',
        'application/connect': 'application/connect+json',
      }
      for (const rpc of ['ServerStream', 'ClientStream', 'Bidi']) {
        for (const [type, answered] of Object.entries(types)) {
          t.test(`${rpc}, ${type}`, async (t) => {
            readsConnectStream(t, await ask({ path: pathOf(rpc), type, body: envelope('{}') }), answered)
          })
        }
      }
    })

    t.test(`${version}: gRPC`, async (t) => {
      const types = {
        'application/grpc': 'application/grpc',
        'application/grpc+proto': 'application/grpc+proto',
        'application/grpc+json': 'application/grpc+json',
        'application/grpc+other': 'application/grpc',
        'application/grpc; charset=utf-8': 'application/grpc',
        'APPLICATION/GRPC+PROTO': 'application/grpc+proto',
      }
      for (const [type, answered] of Object.entries(types)) {
        t.test(type, async (t) => readsGrpc(t, await ask({ type, body: envelope('') }), answered))
      }
    })

    t.test(`${version}: gRPC-Web`, async (t) => {
      const types = {
        'application/grpc-web': 'application/grpc-web',
        'application/grpc-web+proto': 'application/grpc-web+proto',
        'application/grpc-web+json': 'application/grpc-web+json',
        'application/grpc-web+other': 'application/grpc-web',
        'application/grpc-web+proto; charset=utf-8': 'application/grpc-web+proto',
        'Application/gRPC-Web+Proto;charset=UTF-8': 'application/grpc-web+proto',
      }
      for (const [type, answered] of Object.entries(types)) {
        t.test(type, async (t) => readsGrpcWeb(t, await ask({ type, body: envelope('') }), answered))
      }
    })

    t.test(`${version}: gRPC-Web in base64`, async (t) => {
      const types = {
        'application/grpc-web-text': 'application/grpc-web-text',
        'application/grpc-web-text+proto': 'application/grpc-web-text+proto',
        'application/grpc-web-text+proto; charset=utf-8': 'application/grpc-web-text+proto',
        'application/grpc-web-text+json': 'application/grpc-web-text',
      }
      for (const [type, answered] of Object.entries(types)) {
        t.test(type, async (t) => {
          const raw = await ask({ type, body: envelope('').toString('base64') })
          t.match(raw.body.toString(), /^[A-Za-z0-9+/]+={0,2}$/, 'padded base64')
          readsGrpcWeb(t, { ...raw, body: Buffer.from(raw.body.toString(), 'base64') }, answered)
        })
      }
    })
  }
})

const errorInfo = 'CgxSQVRFX0xJTUlURUQSCHhtdHAub3JnGhMKCGNhdGVnb3J5EgdyZXF1ZXN0'
const retryInfo = 'CggIARCAyrXuAQ'

t.test('case 7: the details of 1500 ms in category request, byte by byte', async (t) => {
  t.equal(domain, 'xmtp.org')
  for (const [version, ask] of await asksDenied(t)) {
    t.test(version, async (t) => {
      const inJson = [
        { type: 'google.rpc.ErrorInfo', value: errorInfo },
        { type: 'google.rpc.RetryInfo', value: retryInfo },
      ]
      const unary = JSON.parse((await ask({ type: 'application/json', body: '{}' })).body.toString())
      t.match(unary.details, inJson, 'Connect unary')
      t.equal(unary.details.length, 2)

      const stream = await ask({ path: pathOf('ServerStream'), type: 'application/connect+proto', body: envelope('') })
      const { error } = JSON.parse(envelopesOf(stream.body)[0]!.data.toString())
      t.match(error.details, inJson, 'Connect stream')
      t.equal(error.details.length, 2)

      const inGrpc = [
        { typeUrl: 'type.googleapis.com/google.rpc.ErrorInfo', value: errorInfo },
        { typeUrl: 'type.googleapis.com/google.rpc.RetryInfo', value: retryInfo },
      ]
      const readStatus = (trailers: Readonly<Record<string, unknown>>) =>
        statusOf(trailers)?.details.map(({ typeUrl, value }) => ({
          typeUrl,
          value: Buffer.from(value).toString('base64').replace(/=+$/, ''),
        }))
      t.same(readStatus((await ask({ type: 'application/grpc', body: envelope('') })).headers), inGrpc, 'gRPC')
      const web = await ask({ type: 'application/grpc-web', body: envelope('') })
      t.same(readStatus(trailersIn(envelopesOf(web.body)[0]!.data)), inGrpc, 'gRPC-Web')
    })
  }
})

t.test('gRPC over HTTP/2: one HEADERS frame that ends the stream, and no reset but NO_ERROR', async (t) => {
  const { url, limiter } = await listeningMatrixApp(t, { http2: true, limits: { request: '2/3' } })
  limiter.spend(deniedCaller, 'request', 2)
  const session = openSession(t, url)
  for (const type of ['application/grpc', 'application/grpc+proto', 'application/grpc+json']) {
    const answer = await send(
      session,
      pathOf('Unary'),
      { 'x-caller': deniedCaller.name, 'content-type': type },
      envelope(''),
    )
    t.equal(answer.headersOnly, true, type)
    t.equal(answer.rstCode, 0, `${type}: not reset`)
  }
})

t.test('Retry-After goes along where the protocol has headers', async (t) => {
  for (const [version, ask] of await asksDenied(t)) {
    const withHeaders = { 'Connect unary': 'application/json', gRPC: 'application/grpc' }
    for (const [name, type] of Object.entries(withHeaders)) {
      t.equal((await ask({ type, body: '' })).headers['retry-after'], '2', `${version}, ${name}: 1500 ms, rounded up`)
    }
  }
})
