import fc from 'fast-check'
import t from 'tap'
import { demoKey } from '../../../example-server/settlement/demo.ts'
import { signedParams } from '../../../example-server/settlement/signed-call.ts'
import { headOf, openSocket } from '../../support/raw-http1.ts'
import { callText, postTo, start, txLimited } from './harness.ts'

const ONE = '[rate-limiting.send-tx]\nmax-per-interval = 1\ninterval-duration = "1h"\n'
const JSON_HEAD = ['content-type', 'application/json'] as const

t.test('no body makes an error of the server, or costs anybody anything', async (t) => {
  const { post, sendTx, l1, logged } = await start(t, ONE)
  const params = signedParams('sendTx', 1, Buffer.from('a'), demoKey(1))
  const value = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom(...Object.values(params), 'sendTx', 'sendCertificate', '2.0', 1),
  )
  const key = fc.constantFrom('jsonrpc', 'id', 'method', 'params', '__proto__', 'constructor', 'toString', 'length')
  const call = fc.dictionary(key, value)
  const field = fc.constantFrom('network-id', 'tx', 'signature', '__proto__', 'certificate')
  const nearly = fc
    .dictionary(field, value)
    // The one that is signed is no attack.
    .filter((other) => Object.entries(params).some(([name, value]) => (other[name] ?? value) !== value))
    .map((other) => ({ jsonrpc: '2.0', id: 1, method: 'sendTx', params: { ...params, ...other } }))
  const text = fc.oneof(
    fc.json(),
    call.map((it) => JSON.stringify(it)),
    nearly.map((it) => JSON.stringify(it)),
  )
  const body = fc.oneof(
    text.map((it) => Buffer.from(it)),
    fc.array(text, { maxLength: 5 }).map((texts) => Buffer.from(`[${texts.join(',')}]`)),
    fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)),
    fc.constantFrom(
      ...[
        '['.repeat(500_000),
        `${'['.repeat(100_000)}${']'.repeat(100_000)}`,
        '{"params":'.repeat(50_000),
        '{"jsonrpc":"2.0","id":1e999,"method":"sendTx","params":[1e999,"0x00","0x00"]}',
        '{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"sendTx"}',
        '{"jsonrpc":"2.0","id":1,"method":"sendTx","params":{"__proto__":{"network-id":1}}}',
        `{"jsonrpc":"2.0","id":1,"method":"sendTx","params":[1,"0x${'00'.repeat(400_000)}","0x00"]}`,
        `{"jsonrpc":"2.0","id":1,"method":"${'a'.repeat(900_000)}"}`,
      ].map((it) => Buffer.from(it)),
      Buffer.from([0x22, 0xff, 0x22]),
      Buffer.from('{"jsonrpc":"2.0","id":"\\ud800","method":"sendTx"}'),
      Buffer.concat([Buffer.from('{"jsonrpc":"2.0","id":1,"method":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]),
    ),
  )
  await fc.assert(
    fc.asyncProperty(body, async (bytes) => {
      const { status, json } = await post(bytes)
      const answers = Array.isArray(json) ? json : [json]
      return (
        [200, 204, 400].includes(status) &&
        (status === 204 || answers.every((answer) => answer.error !== undefined && answer.error.code !== -32603))
      )
    }),
    { numRuns: 600 },
  )
  t.equal(l1.posted, 0)
  t.equal(await sendTx(1), 'settled', 'the quota is whole')
  t.notMatch(logged.join(''), /"level":[56]0/)
})

t.test('what does not get as far as a call', async (t) => {
  const { url, http, post } = await start(t, ONE)
  const call = callText('sendTx', 1, Buffer.from('a'))
  const rows: [string, RequestInit & { path?: string }, status: number][] = [
    ['another type', { method: 'POST', headers: { 'content-type': 'text/plain' }, body: call }, 415],
    ['no type that is one', { method: 'POST', headers: { 'content-type': ';' }, body: call }, 415],
    ['a form, as browsers send one from anywhere', { method: 'POST', body: new URLSearchParams({ a: call }) }, 415],
    [
      'too long',
      { method: 'POST', headers: { 'content-type': 'application/json' }, body: 'a'.repeat(1024 * 1024 + 1) },
      413,
    ],
    ['no body', { method: 'POST' }, 400],
    ['GET', {}, 405],
    ['HEAD', { method: 'HEAD' }, 405],
    ['PUT', { method: 'PUT', headers: { 'content-type': 'application/json' }, body: call }, 405],
    ['DELETE', { method: 'DELETE' }, 405],
    ['OPTIONS', { method: 'OPTIONS' }, 405],
    [
      'another path',
      { path: '/sendTx', method: 'POST', headers: { 'content-type': 'application/json' }, body: call },
      404,
    ],
    ['a path that cannot be decoded', { path: '/%zz', method: 'POST' }, 400],
  ]
  for (const [name, { path = '/', ...init }, status] of rows) {
    const response = await fetch(`${url}${path}`, init)
    t.equal(response.status, status, name)
    await response.text()
  }
  t.equal((await fetch(url)).headers.get('allow'), 'POST')
  const { json } = await postTo(url, call, { 'content-type': 'text/plain' })
  t.same([json.jsonrpc, json.id, json.error?.code], ['2.0', null, -32600], 'POST / answers in JSON-RPC')
  t.match((await post('a'.repeat(1024 * 1024 + 1))).json, { id: null, error: { code: -32600, data: /1048576/ } })
  t.equal(
    (await http.inject({ method: 'POST', url: '/', headers: { 'content-type': 'application/json' }, payload: call }))
      .statusCode,
    200,
  )
})

t.test('requests in one connection, one after the other without waiting, are charged each', async (t) => {
  const { url, l1 } = await start(t, ONE)
  const { write, response } = await openSocket(t, Number(new URL(url).port))
  const requests = [0, 1, 2].map((i) => {
    const body = callText('sendTx', 1, Buffer.from(`${i}`))
    return headOf('/', [JSON_HEAD, ['content-length', body.length]]) + body
  })
  write(requests.join(''))
  const answers = [await response(), await response(), await response()].map(({ body }) => JSON.parse(body))
  t.match(answers, [{ result: /^0x/ }, { error: { code: -10007 } }, { error: { code: -10007 } }])
  t.equal(l1.posted, 1)
})

t.test('requests that are no good HTTP end their own connection, and nothing else', async (t) => {
  const { url, sendTx, logged } = await start(t, ONE)
  const body = callText('sendTx', 1, Buffer.from('a'))
  const port = Number(new URL(url).port)
  const rows: [string, string, status: number | undefined][] = [
    ['two lengths', headOf('/', [JSON_HEAD, ['content-length', 1], ['content-length', body.length]]) + body, 400],
    ['a length and chunks', headOf('/', [JSON_HEAD, ['content-length', 1], ['transfer-encoding', 'chunked']]), 400],
    ['a length that is none', headOf('/', [JSON_HEAD, ['content-length', '1e3']]), 400],
    ['no HTTP', 'nonsense\r\n\r\n', 400],
    ['a head that is too long', headOf('/', [['x', 'a'.repeat(20_000)]]), 431],
    ['no host', 'POST / HTTP/1.1\r\ncontent-length: 0\r\n\r\n', 400],
    ['a host that is none', 'POST / HTTP/1.1\r\nhost: a b\r\ncontent-length: 0\r\n\r\n', 400],
  ]
  for (const [name, bytes, status] of rows) {
    const socket = await openSocket(t, port)
    socket.write(bytes)
    t.equal((await socket.response()).status, status, name)
    socket.socket.destroy()
  }
  const slow = await openSocket(t, port)
  slow.write(headOf('/', [JSON_HEAD, ['content-length', body.length]]) + body.slice(0, 20))
  t.equal(await sendTx(1), 'settled', 'one that dribbles keeps nobody waiting')
  slow.write(body.slice(20))
  t.match(JSON.parse((await slow.response()).body), { error: { code: -10007 } })
  t.same(await sendTx(1), txLimited(1, 3600, 3600))
  t.notMatch(logged.join(''), /127\.0\.0\.1|nonsense|0x[0-9a-f]{16}/)
})
