import { connect as connectHttp2, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2'
import { connect } from 'node:net'
import fc from 'fast-check'
import t from 'tap'
import { demo } from '../../example-server/demo.ts'
import { BackendService } from '../../example-server/gen/example/v1/backend_pb.ts'
import { LOOPBACK, SERVICE, start, token } from './harness.ts'

const METHODS = BackendService.methods.map((method) => method.name)
const CONTENT_TYPES = [
  'application/json',
  'application/proto',
  'application/connect+json',
  'application/connect+proto',
  'application/grpc',
  'application/grpc+proto',
  'application/grpc+json',
  'application/grpc-web',
  'application/grpc-web+json',
  'application/grpc-web-text',
  'text/plain',
  'application/octet-stream',
  'multipart/form-data',
  ';',
  'application/json; charset=latin1',
  'application/json; charset="',
]
/** What must not be in a log line: each is in requests below. */
const SECRETS = [demo.apiKey, 'SECRETKEY', 'eyJ', '203.0.113.9', '127.0.0.1', '::1', 'Bearer', 'x-forwarded-for']

/** Connect says unimplemented by 501, of an encoding, and deadline_exceeded by 504: neither is a fault of the server. */
function isNoFault(status: number): boolean {
  // 505: bidi streams need HTTP/2.
  return status < 500 || [501, 504, 505].includes(status)
}

/** One HTTP/2 exchange; resolves to the response's headers, or the code of what went wrong. */
function exchange(url: string, headers: OutgoingHttpHeaders, body?: Buffer): Promise<IncomingHttpHeaders | string> {
  const session = connectHttp2(url)
  return new Promise<IncomingHttpHeaders | string>((resolve) => {
    const gone = (error: { code?: string }) => resolve(error.code ?? 'error')
    session.on('error', gone)
    const stream = session.request(headers)
    stream
      .on('response', resolve)
      .on('error', gone)
      .on('close', () => resolve('closed'))
    stream.resume()
    stream.end(body)
  }).finally(() => session.destroy())
}

/** What a server answers to bytes. */
function sendBytes(url: string, bytes: string | Buffer): Promise<string> {
  const { port, hostname } = new URL(url)
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname)
    let received = ''
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1')
    })
    socket.on('error', () => resolve(received)).on('close', () => resolve(received))
    socket.setTimeout(300, () => socket.destroy())
    socket.write(bytes)
  })
}

t.test('no body and no content type makes an error of the server', async (t) => {
  const { http, h2c, logged, limiter } = await start(t, { request: 1_000_000, stream_rent: 1 })
  // No stream opens, and so none stays open.
  limiter.spend(LOOPBACK, 'stream_rent', 1)
  const body = fc.oneof(
    fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)),
    fc.uint8Array({ maxLength: 64 }).map((bytes) => {
      const head = Buffer.alloc(5)
      head.writeUInt32BE(bytes.length, 1)
      return Buffer.concat([head, bytes])
    }),
    fc.json().map((text) => Buffer.from(text)),
    fc.constantFrom(
      ...[
        '{"envelopes":[{"topic":"\\ud800","applicationMessage":"aGk="}]}',
        '{"envelopes":[{"topic":"a\\u0000b","applicationMessage":"aGk="}]}',
        '{"envelopes":[{"topic":"a"}]}',
        '{"envelopes":[null]}',
        '{"envelopes":[{"topic":"a","identityUpdate":{"inboxId":"a","signatures":[{}]}}]}',
        '{"envelopes":[{"topic":"a","identityUpdate":{"inboxId":"a","signatures":[{"ecdsa":{}},{"erc6492":{}}]}}]}',
        '{"envelopes":[{"topic":"a","identityUpdate":{"inboxId":"a","signatures":[{"ecdsa":{"publicKey":"AAAA"}}]}}]}',
        '{"topics":["\\ud800"],"afterSequenceId":"18446744073709551615","limit":100}',
        '{"topics":["a"],"afterSequenceId":"18446744073709551615","limit":100}',
        '{"topics":["a"],"limit":4294967295}',
        '{"requests":[{"signature":{"chainId":"18446744073709551615","owner":{}}},{}]}',
        '{"installationId":"AAAAAAAAAAAAAAAAAAAAAA==","adds":["a"]}',
        '{"installationId":"AAAAAAAAAAAAAAAAAAAAAA==","deliveryToken":"\\ud800"}',
        '{"sizeBytes":"18446744073709551615"}',
        '{"sizeBytes":"-1"}',
        '['.repeat(10_000),
        '{"envelopes":'.repeat(5000),
        '{"__proto__":{"topics":["a"]}}',
      ].map((text) => Buffer.from(text)),
    ),
  )
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...METHODS),
      fc.constantFrom(...CONTENT_TYPES),
      fc.constantFrom<'POST' | 'GET' | 'PUT' | 'HEAD' | 'DELETE'>('POST', 'GET', 'PUT', 'HEAD', 'DELETE'),
      fc.boolean(),
      body,
      async (method, contentType, verb, http2, payload) => {
        const headers = { 'content-type': contentType, 'connect-protocol-version': '1' }
        const query =
          verb === 'GET' ? `?connect=v1&encoding=json&base64=1&message=${payload.toString('base64url')}` : ''
        const { statusCode } = await (http2 ? h2c : http).inject({
          method: verb,
          url: `/${SERVICE}/${method}${query}`,
          headers,
          ...(verb !== 'GET' && { payload }),
        })
        return isNoFault(statusCode)
      },
    ),
    { numRuns: 600 },
  )
  t.notMatch(logged.join(''), /"level":[456]0/)
})

t.test('no header makes an error of the server, and none is logged', async (t) => {
  const { urls, http, logged } = await start(t, { request: 1_000_000 })
  const value = await token({ sub: '203.0.113.9' })
  const hostile: Record<string, string>[] = [
    { 'x-api-key': demo.apiKey },
    { 'x-api-key': 'SECRETKEY' },
    { authorization: `Bearer ${value}` },
    { authorization: `Bearer ${value}x` },
    { authorization: 'Bearer SECRETKEY', 'x-forwarded-for': '203.0.113.9' },
    { 'x-forwarded-for': '203.0.113.9, ::1, SECRETKEY' },
    { 'content-type': 'SECRETKEY' },
    { 'content-type': 'application/SECRETKEY' },
    { 'content-encoding': 'SECRETKEY' },
    { 'connect-timeout-ms': 'SECRETKEY' },
    { 'connect-timeout-ms': '99999999999999999999' },
    { 'connect-timeout-ms': '0' },
    { 'grpc-timeout': 'SECRETKEY' },
    { 'content-length': '3' },
    { origin: 'SECRETKEY' },
    { 'accept-encoding': 'SECRETKEY' },
    { 'connect-accept-encoding': 'SECRETKEY' },
    { cookie: '__proto__=SECRETKEY' },
    { __proto__: 'SECRETKEY', constructor: 'SECRETKEY' },
  ]
  for (const headers of hostile) {
    for (const path of [
      `/${SERVICE}/Query`,
      `/${SERVICE}/GetConfiguration`,
      '/SECRETKEY?key=SECRETKEY',
      '/%zz-SECRETKEY',
    ]) {
      const { statusCode } = await http.inject({
        method: 'POST',
        url: path,
        headers: { 'content-type': 'application/json', ...headers },
        payload: '{}',
      })
      t.ok(isNoFault(statusCode), `${path}: ${statusCode}`)
    }
  }
  for (const [contentType, body] of [
    ['application/json', '{"SECRETKEY":"SECRETKEY"}'],
    ['application/json', '{"topics":["SECRETKEY'],
    ['application/grpc-web', 'SECRETKEY'],
  ] as const) {
    const init = { method: 'POST', headers: { 'content-type': contentType }, body }
    t.ok((await fetch(`${urls.http}/${SERVICE}/Query`, init)).status < 500)
  }
  const lines = logged.join('')
  t.match(lines, `/${SERVICE}/Query`, 'requests are logged')
  for (const secret of SECRETS) t.notOk(lines.toLowerCase().includes(secret.toLowerCase()), `without ${secret}`)
  t.notMatch(lines, /"level":[456]0/)
})

t.test('a path that nothing is at is a plain 404 at once, with whatever body', async (t) => {
  const { urls } = await start(t)
  for (const contentType of CONTENT_TYPES) {
    const init = { method: 'POST', headers: { 'content-type': contentType }, body: 'x'.repeat(100_000) }
    const response = await fetch(`${urls.http}/no.such.Service/Method`, init)
    t.equal(response.status, 404, contentType)
    t.equal(await response.text(), '{"error":"not found"}')
    const headers = { ':method': 'POST', ':path': `/${SERVICE}/NoSuch`, 'content-type': contentType }
    const answer = await exchange(urls.h2c, headers, Buffer.alloc(100_000))
    t.match(answer, { ':status': 404 }, `${contentType}, h2c`)
  }
})

t.test('methods and paths of no sort', async (t) => {
  const { urls } = await start(t)
  for (const method of ['__proto__', 'constructor', 'toString', 'PROPFIND', 'TRACE', 'x'.repeat(1000)]) {
    for (const path of [`/${SERVICE}/Query`, '/', '/%zz', '*', '//', `/${'a'.repeat(10_000)}`, '/..%2f..', '/\u00e9']) {
      const answer = await exchange(urls.h2c, { ':method': method, ':path': path })
      if (typeof answer !== 'string') t.ok(Number(answer[':status']) < 500, `${method} ${path}: ${answer[':status']}`)
    }
  }
  t.match(await exchange(urls.h2c, { ':method': 'GET', ':path': '/' }), { ':status': 404 }, 'and it still answers')
})

t.test('a request without a host, or with one that is none, is answered', async (t) => {
  const { urls, logged } = await start(t)
  const rest = 'Content-Type: application/json\r\nConnection: close\r\nContent-Length: 16\r\n\r\n{"topics":["a"]}'
  t.match(await sendBytes(urls.http, `POST /${SERVICE}/Query HTTP/1.0\r\n${rest}`), /^HTTP\/1\.1 400 /)
  for (const host of ['[SECRETKEY', 'a b', 'a:99999', 'a/../b@c:d', '%zz', '\u00ff']) {
    const answer = await sendBytes(urls.http, `POST /${SERVICE}/Query HTTP/1.1\r\nHost: ${host}\r\n${rest}`)
    t.match(answer, /^HTTP\/1\.1 (400|200) /, host)
  }
  t.notMatch(logged.join(''), /SECRETKEY|"level":[456]0/)
})

t.test('bytes that are no HTTP', async (t) => {
  const { urls, logged } = await start(t)
  const post = `POST /${SERVICE}/Query HTTP/1.1\r\nHost: a\r\n`
  for (const bytes of [
    'SECRETKEY\r\n\r\n',
    `GET / HTTP/1.1\r\nHost: a\r\nX-Api-Key: SECRETKEY\r\nbad header\r\n\r\n`,
    `${post}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`,
    `${post}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nSECRETKEY\r\n`,
    `${post}X-Api-Key: ${'SECRETKEY'.repeat(3000)}\r\n\r\n`,
    `GET / HTTP/9.9\r\nX-Api-Key: SECRETKEY\r\n\r\n`,
    Buffer.alloc(1000, 255),
    `POST /${SERVICE}/Query HTTP/1.0\r\nContent-Type: application/json\r\n\r\n`,
    `POST http://[SECRETKEY/${SERVICE}/Query HTTP/1.1\r\nHost: a\r\n\r\n`,
    `POST //SECRETKEY:99999/${SERVICE}/Query HTTP/1.1\r\nHost: a\r\n\r\n`,
    `POST /${SERVICE}/Query HTTP/1.1\r\nHost: [SECRETKEY\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`,
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  ]) {
    const name = bytes.toString().slice(0, 20)
    t.notMatch(await sendBytes(urls.http, bytes), /^HTTP\/1\.1 5/, name)
    t.notMatch(await sendBytes(urls.h2c, bytes), /^HTTP\/1\.1 5/, `${name}, h2c`)
  }
  const lines = logged.join('')
  for (const secret of SECRETS) t.notOk(lines.includes(secret), `without ${secret}`)
  t.notMatch(lines, /"level":[456]0/)
  const configuration = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }
  t.equal((await fetch(`${urls.http}/${SERVICE}/GetConfiguration`, configuration)).status, 200, 'and it still answers')
})
