import { once } from 'node:events'
import { createServer as createHttpsServer } from 'node:https'
import { createServer } from 'node:net'
import t from 'tap'
import { openSocket } from '../../support/raw-http1.ts'
import { petra, petraInBrowser, route, start, startUpstream } from './harness.ts'
import { selfSigned } from './self-signed.ts'

const routes = `
[[routes]]
name = "kept"
prefix = "/kept"
upstream = "UPSTREAM/kept"
[[routes]]
name = "moved"
prefix = "/a/b"
upstream = "UPSTREAM/base/"
[[routes]]
name = "longer"
prefix = "/a/b/longer"
upstream = "UPSTREAM"
`

t.test('a prefix becomes the path of the upstream, at whole segments; the longest wins', async (t) => {
  const { send, upstream } = await start(t, { routes })
  const rows: [path: string, reached: string | number][] = [
    ['/kept', '/kept'],
    ['/kept/1?a=b&c=%2F..%2f', '/kept/1?a=b&c=%2F..%2f'],
    ['/kept?', '/kept?'],
    ['/a/b', '/base'],
    ['/a/b/', '/base/'],
    ['/a/b/c%20d/%7Eme', '/base/c%20d/~me'],
    ['/%61/%62/c', '/base/c'],
    ['/a/b/longer', '/'],
    ['/a/b/longer/x', '/x'],
    ['/a/b/longest', '/base/longest'],
    ['/keptout', 404],
    ['/a', 404],
    ['/', 404],
    ['/KEPT', 404],
    ['/-/nothing', 404],
    ['/-', 404],
  ]
  for (const [path, reached] of rows) {
    const { status } = await send(path)
    t.equal(status === 200 ? upstream.reached.at(-1)!.url : status, reached, path)
  }
})

t.test(
  'no spelling of a path leaves its prefix or its host, and none that upstreams read differently goes through',
  async (t) => {
    const other = await startUpstream(t)
    const { send, upstream, port } = await start(t, { routes })
    for (const path of [
      '/kept/../secret',
      '/kept/..',
      '/kept/./x',
      '/kept/%2e%2e/secret',
      '/kept/.%2E/secret',
      '/kept/..%2fsecret',
      '/kept/..%5csecret',
      '/kept/..\\secret',
      '/kept/..;/secret',
      '/kept//evil.example/x',
      '//evil.example/kept',
      '/kept%2fx',
      '/kept/%00',
      '/kept/%0d%0aevil:1',
      '/kept/%zz',
      '/kept/%',
      '/kept/%ff',
      '/kept/x#y',
      '/a/b/%2e%2e/%2e%2e/secret',
      '*',
      `http://127.0.0.1:${other.port}`,
      `http://127.0.0.1:${other.port}/`,
      `http://user@127.0.0.1:${other.port}/`,
      `ftp://127.0.0.1:${other.port}/kept`,
      `HTTP://127.0.0.1:${other.port}//kept`,
    ]) {
      const socket = await openSocket(t, port)
      socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${other.port}\r\n\r\n`)
      const { status } = await socket.response()
      t.ok(status === 400 || status === 404, `${path}: ${status}`)
      socket.socket.destroy()
    }
    t.equal(upstream.reached.length, 0)
    t.equal((await send(`http://127.0.0.1:${other.port}/kept/1?a`)).status, 200)
    t.equal(upstream.reached[0]?.url, '/kept/1?a', 'a target in absolute form goes by its path (RFC 9112, 3.2.2)')
    t.equal(upstream.reached[0]?.headers.host, `127.0.0.1:${upstream.port}`)
    t.equal(other.dialled(), 0)
  },
)

t.test('methods that it does not know: 405', async (t) => {
  const { send, port, upstream } = await start(t, { routes })
  for (const method of ['TRACE', 'PROPFIND', 'SEARCH']) {
    const { status, headers } = await send('/kept', { method })
    t.equal(status, 405, method)
    t.match(headers.allow, /^GET, HEAD, POST/)
  }
  const socket = await openSocket(t, port)
  socket.write('CONNECT evil.example:443 HTTP/1.1\r\nhost: evil.example\r\n\r\n')
  await socket.closed
  t.equal(upstream.dialled(), 0)
})

t.test('what is said of one connection stays there, and the credentials of the gateway too', async (t) => {
  const { send, upstream } = await start(t, { routes: route('') })
  await send('/x', {
    method: 'POST',
    headers: {
      ...petra,
      cookie: 'a=b; session=session-of-petra; c=d',
      authorization: 'Bearer of-the-upstream',
      connection: 'keep-alive, X-Only-Here, x-forwarded-for',
      'x-only-here': '1',
      'keep-alive': 'timeout=5',
      te: 'trailers',
      'proxy-authorization': 'Basic eDp5',
      'proxy-connection': 'keep-alive',
      upgrade: 'websocket',
      expect: '100-continue',
      'x-custom': 'kept',
      via: '1.0 before',
      host: 'api.example',
    },
    body: 'hello',
  })
  const { headers, body } = upstream.reached[0]!
  t.equal(body, 'hello')
  for (const name of [
    'x-only-here',
    'keep-alive',
    'te',
    'proxy-authorization',
    'proxy-connection',
    'upgrade',
    'expect',
    'x-api-key',
  ]) {
    t.notOk(name in headers, name)
  }
  t.match(headers, {
    cookie: 'a=b; c=d',
    authorization: 'Bearer of-the-upstream',
    'x-custom': 'kept',
    'x-forwarded-for': '127.0.0.1',
    'x-forwarded-host': 'api.example',
    via: /^1\.0 before, 1\.1 gateway-/,
    'content-length': '5',
    host: `127.0.0.1:${upstream.port}`,
  })
  await send('/x', { headers: { ...petraInBrowser, 'x-forwarded-for': '192.0.2.1' } })
  t.equal(upstream.reached[1]!.headers.cookie, undefined)
  t.equal(upstream.reached[1]!.headers['x-forwarded-for'], '192.0.2.1, 127.0.0.1')
})

t.test('the same of answers; their other headers come as they are', async (t) => {
  const { send } = await start(t, {
    routes: route(''),
    answer: (_request, response) => {
      response.writeHead(201, [
        ...['connection', 'keep-alive, x-hop', 'x-hop', '1', 'keep-alive', 'timeout=9', 'proxy-authenticate', 'Basic'],
        ...['set-cookie', 'a=1', 'set-cookie', 'b=2', 'x-custom', 'kept', 'location', '/x/1'],
      ])
      response.end('made')
    },
  })
  const { status, headers, body } = await send('/x', { method: 'PUT' })
  t.equal(status, 201)
  t.equal(body, 'made')
  t.equal(headers['x-hop'], undefined)
  t.equal(headers['proxy-authenticate'], undefined)
  t.not(headers['keep-alive'], 'timeout=9')
  t.same(headers['set-cookie'], ['a=1', 'b=2'])
  t.match(headers, { 'x-custom': 'kept', location: '/x/1', via: /gateway-/ })
})

t.test('bodies are streamed, both ways, and need not be of a type that anyone knows', async (t) => {
  const { port } = await start(t, {
    routes: route(''),
    answer: (request, response) => {
      response.writeHead(200)
      request.on('data', (chunk) => response.write(chunk)).on('end', () => response.end())
    },
  })
  const socket = await openSocket(t, port)
  socket.write('POST /x HTTP/1.1\r\nhost: a\r\ncontent-type: no/such; type\r\ntransfer-encoding: chunked\r\n\r\n')
  const seen = (text: string) =>
    new Promise<void>((resolve) => {
      let all = ''
      socket.socket.on('data', function look(chunk: Buffer) {
        all += chunk
        if (all.includes(text)) resolve()
      })
    })
  for (const part of ['first', 'again', 'third']) {
    const echoed = seen(part)
    socket.write(`5\r\n${part}\r\n`)
    await echoed
  }
  socket.write('0\r\n\r\n')
  t.equal((await socket.response()).body, 'firstagainthird')
})

t.test('large bodies, bodies of GET, HEAD, and JSON that is none', async (t) => {
  const { send, upstream } = await start(t, { routes: route('') })
  const large = 'x'.repeat(3 * 1024 * 1024)
  t.equal((await send('/x', { method: 'POST', body: large })).status, 200)
  t.equal(upstream.reached[0]!.body.length, large.length)
  const headers = { 'content-type': 'application/json' }
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    t.equal((await send('/x', { method, headers, body: '{"__proto__":' })).status, 200, method)
    t.match(upstream.reached.at(-1), { method, body: '{"__proto__":' })
  }
  t.equal((await send('/x', { headers, body: 'ignored' })).status, 200)
  t.match(upstream.reached.at(-1), { method: 'GET', body: '' })
  const { status, body } = await send('/x', { method: 'HEAD' })
  t.same([status, body], [200, ''])
  t.equal(upstream.reached.at(-1)!.method, 'HEAD')
})

t.test('an upstream that is not there, hangs up, or speaks no HTTP: 502, and nothing of why', async (t) => {
  const broken = createServer((socket) => socket.on('error', () => {}).end('SSH-2.0-upstream\r\n'))
  const closing = createServer((socket) => socket.on('error', () => {}).destroy())
  for (const server of [broken, closing]) await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => [broken.close(), closing.close()])
  const [brokenPort, closingPort] = [broken, closing].map((server) => (server.address() as { port: number }).port)
  const at = (name: string, upstream: string) =>
    `[[routes]]\nname = "${name}"\nprefix = "/${name}"\nupstream = "${upstream}"\n`
  const { send, logged } = await start(t, {
    routes:
      at('gone', 'http://127.0.0.1:1') +
      at('nowhere', 'http://no-such-host.invalid') +
      at('broken', `http://127.0.0.1:${brokenPort}`) +
      at('closing', `http://127.0.0.1:${closingPort}`),
  })
  for (const name of ['gone', 'nowhere', 'broken', 'closing']) {
    for (const method of ['GET', 'POST']) {
      const { status, headers, body } = await send(`/${name}`, { method, ...(method === 'POST' && { body: 'x' }) })
      t.equal(status, 502, `${method} ${name}`)
      t.match(headers['content-type'], 'application/problem+json')
      t.same(JSON.parse(body), { type: 'about:blank', title: 'Bad Gateway', status: 502 })
    }
  }
  t.notMatch(logged.join(''), /127\.0\.0\.1|no-such-host/)
})

t.test('an upstream whose certificate nobody vouches for: 502, and it gets no request', async (t) => {
  let asked = 0
  const impostor = createHttpsServer(selfSigned, (_request, response) => {
    asked += 1
    response.end()
  })
  await once(impostor.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => impostor.close())
  const { port } = impostor.address() as { port: number }
  const { send, logged } = await start(t, {
    routes: `[[routes]]\nname = "x"\nprefix = "/x"\nupstream = "https://127.0.0.1:${port}"\n`,
  })
  t.equal((await send('/x')).status, 502)
  t.equal(asked, 0)
  t.match(logged.join(''), 'DEPTH_ZERO_SELF_SIGNED_CERT')
})

t.test('an upstream that says nothing: 504; one that stops in its answer: the answer ends broken off', async (t) => {
  const { send } = await start(t, {
    routes: route('', 'timeout = "PT1S"'),
    answer: (request, response) => {
      if (request.url === '/half') response.writeHead(200, { 'content-length': '10' }).write('half')
    },
  })
  t.equal((await send('/x/silent')).status, 504)
  await t.rejects(send('/x/half'))
})

t.test('what the upstream says is not tried again: 503 with Retry-After comes through, once', async (t) => {
  let asked = 0
  const { send } = await start(t, {
    routes: route(''),
    answer: (_request, response) => {
      asked += 1
      response.writeHead(503, { 'retry-after': '1' }).end()
    },
  })
  const { status, headers } = await send('/x')
  t.same([status, headers['retry-after'], asked], [503, '1', 1])
})

t.test('a route that leads to the gateway itself: 508, once round', async (t) => {
  const { send, save, url } = await start(t, { routes: route('') })
  await save('loop', { prefix: '/loop', upstream: `${url}/loop` })
  t.equal((await send('/loop')).status, 508)
})

t.test('a client that leaves in the middle of its body harms nobody', async (t) => {
  const { send, port } = await start(t, { routes: route('') })
  for (let i = 0; i < 20; i += 1) {
    const { socket, write } = await openSocket(t, port)
    write('POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\nhalf')
    socket.destroy()
  }
  t.equal((await send('/x')).status, 200)
})
