import fc from 'fast-check'
import t from 'tap'
import { heldBytes } from '../../support/process-memory.ts'
import { headOf, openSocket } from '../../support/raw-http1.ts'
import { inBrief, leftOf, somebody, start } from './harness.ts'

/** No limits, so that everything comes through. */
const OPEN = { sender: {}, global: {} }

t.test('no body makes an error of the server, and no line of the log', async (t) => {
  const { app, logged, store } = await start(t, OPEN)
  const [ann, bob] = [somebody(), somebody()]
  const signed = ann.message(bob.identity)
  const body = fc.oneof(
    fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)),
    fc.json().map((text) => Buffer.from(text)),
    fc.dictionary(fc.constantFrom('sender', 'signature', 'recipient', 'message_id', '__proto__'), fc.jsonValue()),
    fc.jsonValue().map((content) => ({ ...signed, content })),
    fc.constantFrom(
      '['.repeat(8000),
      '{"a":'.repeat(1500),
      `{"sender":"SECRET","signature":"${'0'.repeat(128)}"}`,
      `{"sender":"${ann.identity}","signature":"${'0'.repeat(128)}","a":${'['.repeat(3000)}${']'.repeat(3000)}}`,
      `{"sender":"${ann.identity}","signature":"${'0'.repeat(128)}","a":1e999}`,
      `{"sender":"${ann.identity}","sender":"${ann.identity}","signature":"${'0'.repeat(128)}"}`,
      '{"sender":"\\ud800","signature":"\\ud800"}',
      '{"sender":"a\\u0000b","constructor":{"prototype":{}},"hasOwnProperty":1,"toString":2}',
      '{"toJSON":1,"sender":{"toString":1}}',
    ),
  )
  await fc.assert(
    fc.asyncProperty(fc.constantFrom('/messages', '/acks'), body, async (url, payload) => {
      const text = Buffer.isBuffer(payload) || typeof payload === 'string' ? payload : JSON.stringify(payload)
      const headers = { 'content-type': 'application/json' }
      const { statusCode } = await app.inject({ method: 'POST', url, headers, payload: text })
      return [400, 401].includes(statusCode)
    }),
    { numRuns: 1000 },
  )
  t.equal(store.count('messages'), 0)
  t.notMatch(logged.join(''), /SECRET|"level":[456]0/)
})

t.test('whatever a body is called it is read as JSON; what is too long is refused unread, uncharged', async (t) => {
  const relay = await start(t, { sender: { minute: 100 }, global: { minute: 100 } })
  const [ann, bob] = [somebody(), somebody()]
  const body = JSON.stringify(ann.message(bob.identity))
  for (const type of [
    'application/json',
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/grpc',
    'a/b',
    'foo',
    '',
    'application/',
    'application/json, text/plain',
    '__proto__',
    ';',
  ]) {
    const headers = { 'content-type': type }
    const { status } = await fetch(`${relay.url}/messages`, { method: 'POST', headers, body })
    t.equal(status, 202, type)
  }
  const untyped = new Blob([body])
  t.equal((await fetch(`${relay.url}/messages`, { method: 'POST', body: untyped })).status, 202)
  const { status } = await fetch(`${relay.url}/messages`, { method: 'POST' })
  t.equal(status, 400, 'no body')
  for (const length of [8193, 10_000_000]) {
    const { status, json } = await relay.post('/messages', `{"sender":"ann","content":"${'x'.repeat(length)}"}`)
    t.match([status, json], [413, { error: 'bad request' }])
  }
  t.match(leftOf(relay.limiter), [{ bound: 'global', units: 87 }], 'only the thirteen')
  const blocked = await start(t, { sender: { minute: -1 } })
  for (const type of ['foo', '', 'application/', '__proto__']) {
    const headers = { 'content-type': type }
    const { status } = await fetch(`${blocked.url}/acks`, { method: 'POST', headers, body })
    t.equal(status, 429, type)
  }
})

t.test('methods, paths and headers of no sort', async (t) => {
  const relay = await start(t, OPEN)
  for (const method of ['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    for (const path of ['/messages', '/acks', '/', '/nothing', '/%2e%2e', '//messages', '/messages/', '/MESSAGES']) {
      const { status } = await relay.get(path, method)
      t.equal(status, 404, `${method} ${path}`)
    }
  }
  for (const path of ['/%zz', '/identities/%zz', '/identities/%ff', '/identities/%c3%28']) {
    t.equal((await relay.get(path)).status, 400, path)
  }
  for (const path of ['/identities/', '/identities/__proto__', '/identities/a%2fb']) {
    t.equal((await relay.get(path)).status, 404, path)
  }
  t.equal((await relay.get(`/identities/${'a'.repeat(5000)}`)).status, 400)
  const { socket, ...raw } = await openSocket(t, relay.port)
  for (const [lines, status] of [
    [[['content-type', ';']], 401],
    [[['content-type', 'application/json; charset=latin1']], 401],
    [
      [
        ['content-type', 'application/json'],
        ['content-type', 'text/plain'],
      ],
      401,
    ],
    [[['content-encoding', 'gzip']], 401],
    [[['x-forwarded-for', 'SECRET']], 401],
    [[['accept', 'SECRET']], 401],
  ] as const) {
    raw.write(headOf('/messages', [...lines, ['content-length', 16]]))
    raw.write('{"sender":"ann"}')
    t.equal((await raw.response()).status, status, JSON.stringify(lines))
  }
  socket.destroy()
  t.notMatch(relay.logged.join(''), /SECRET|127\.0\.0\.1|"level":[456]0/)
})

t.test('bytes that are no HTTP', async (t) => {
  const relay = await start(t, OPEN)
  for (const bytes of [
    'SECRET\r\n\r\n',
    'POST /messages HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n',
    'POST /messages HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}',
    'POST /messages HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nSECRET\r\n',
    `POST /messages HTTP/1.1\r\nhost: a\r\nx: ${'SECRET'.repeat(5000)}\r\n\r\n`,
    'POST /messages HTTP/1.1\r\n\r\n',
    'GET /health HTTP/9.9\r\n\r\n',
  ]) {
    const raw = await openSocket(t, relay.port)
    raw.write(bytes)
    t.match((await raw.response()).status, /^4\d\d$/, bytes.slice(0, 70))
    await raw.closed
  }
  t.equal((await relay.get('/health')).status, 200, 'and it still answers')
  t.notMatch(relay.logged.join(''), /SECRET|"level":[456]0/)
})

t.test('pipelined requests are counted one by one', async (t) => {
  const relay = await start(t, { sender: { minute: 20 }, global: {} })
  const raw = await openSocket(t, relay.port)
  const request = `${headOf('/messages', [['content-length', 16]])}{"sender":"ann"}`
  raw.write(request.repeat(25))
  const statuses: number[] = []
  for (let i = 0; i < 25; i++) statuses.push((await raw.response()).status)
  t.equal(inBrief(statuses), '20 x 401, 5 x 429')
})

t.test('a slow body costs nothing until it is there, and nobody else waits for it', async (t) => {
  const relay = await start(t, { sender: { minute: 1 }, global: { minute: 3 } })
  const slow = await openSocket(t, relay.port)
  slow.write(`${headOf('/messages', [['content-length', 16]])}{"sender":`)
  const gone = await openSocket(t, relay.port)
  gone.write(`${headOf('/messages', [['content-length', 16]])}{"sender":"ann"`)
  gone.socket.destroy()
  t.equal(await relay.forge('ann'), 401)
  slow.write('"ann"}')
  const response = await slow.response()
  t.match([response.status, JSON.parse(response.body)], [429, { scope: 'sender' }])
  t.equal(await relay.forge('bob'), 401)
  t.equal(await relay.forge('eve'), 401)
  t.equal(await relay.forge('ivy'), 429)
})

t.test('fresh senders and messages make nothing grow', async (t) => {
  const relay = await start(
    t,
    { sender: { minute: 20, hour: 200, day: 1000 }, global: {} },
    { maxMessages: 100, log: false },
  )
  const flood = async (from: number) => {
    for (let i = from; i < from + 1000; i++) {
      await relay.app.inject({
        method: 'POST',
        url: '/messages',
        payload: `{"sender":"${i}","a":"${'x'.repeat(4000)}"}`,
      })
    }
  }
  await flood(0)
  const before = heldBytes()
  await flood(1000)
  await flood(2000)
  const after = heldBytes()
  const grown = after.heap + after.arrayBuffers - before.heap - before.arrayBuffers
  t.ok(grown < 4 * 2 ** 20, `${grown} bytes`)
})
