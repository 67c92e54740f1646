import t from 'tap'
import { readInventory } from '../../../example-server/gateway/openapi.ts'

/** An inventory of a file, or what is said of it. */
function read(folder: string, name = 'api.yaml') {
  const problems: string[] = []
  const inventory = readInventory(name, folder, 'openapi', (path, problem) => problems.push(`${path}: ${problem}`))
  return { inventory, problem: problems.join('; ') }
}

const get = { responses: {} }

t.test('JSON and YAML, operations by id and by signature, paths with parameters', async (t) => {
  const paths = {
    '/': { get },
    '/orders/{id}': { get: { operationId: 'readOrder' }, parameters: [], summary: 'An order' },
    '/orders/search': { get },
    '/orders:batch': { post: get },
    '/files/{name}.json': { get },
    '/a/{b}/c/{d}': { get, put: get },
    '/café': { get },
  }
  const folder = t.testdir({
    'api.json': JSON.stringify({ openapi: '3.0.3', paths }),
    'api.yaml': `openapi: "3.1.0"\npaths: ${JSON.stringify(paths)}\n`,
  })
  for (const name of ['api.json', 'api.yaml']) {
    const { inventory, problem } = read(folder, name)
    t.equal(problem, '')
    const match = (method: string, path: string) => inventory!.match(method, path)?.signature
    t.equal(inventory!.find('readOrder'), inventory!.find('GET /orders/{id}'))
    t.equal(inventory!.find('__proto__'), undefined)
    t.equal(match('GET', '/'), 'GET /')
    t.equal(match('GET', '/orders/1'), 'GET /orders/{id}')
    t.equal(match('HEAD', '/orders/1'), 'GET /orders/{id}')
    t.equal(match('GET', '/orders/search'), 'GET /orders/search', 'what is written out goes before parameters')
    t.equal(match('POST', '/orders:batch'), 'POST /orders:batch')
    t.equal(match('GET', '/files/a.json'), 'GET /files/{name}.json')
    t.equal(match('GET', '/files/a.xml'), undefined)
    t.equal(match('PUT', '/a/1/c/2'), 'PUT /a/{b}/c/{d}')
    t.equal(match('PUT', '/a/1/c'), undefined)
    t.equal(match('GET', '/caf%C3%A9'), 'GET /café')
    t.equal(match('PROPFIND', '/orders/1'), undefined)
  }
})

t.test('what is no OpenAPI file is refused, with where and why', async (t) => {
  const paths = (text: string) => `openapi: 3.1.0\npaths: ${text}`
  const rows: [text: string, why: RegExp][] = [
    ['', /\(no object\)$/],
    ['a: [', /\(no YAML in line \d+, column \d+\)$/],
    ['- 1', /\(no object\)$/],
    ['swagger: "2.0"\npaths: {}', /\(openapi is not 3\.x\)$/],
    ['openapi: 3.1', /\(openapi is not 3\.x\)$/],
    [paths('[]'), /\(paths is no object\)$/],
    [paths('{ /a: 1 }'), /\(paths: no object at "\/a"\)$/],
    [paths('{ /a: { get: 1 } }'), /\(paths: no operation at "get \/a"\)$/],
    [paths('{ a: { get: {} } }'), /\(paths: "a" is not understood\)$/],
    [paths('{ "/a/*": { get: {} } }'), /is not understood\)$/],
    [paths('{ "/a?b": { get: {} } }'), /is not understood\)$/],
    [paths('{ "/{a": { get: {} } }'), /is not understood\)$/],
    [paths('{ "/{a}{b}": { get: {} } }'), /is not understood\)$/],
    [paths('{ "/%zz": { get: {} } }'), /is not understood\)$/],
    [paths('{ "/{a}": { get: {} }, "/{b}": { get: {} } }'), /\(paths: "GET \/\{b\}" is like another/],
    [
      paths('{ /a: { get: { operationId: x } }, /b: { get: { operationId: x } } }'),
      /\(two operations are called "x"\)$/,
    ],
    [`a: &a [x, x]\nb: &b [*a, *a, *a, *a]\n${'c'.repeat(3)}: [${'*b, '.repeat(200)}]\n${paths('{}')}`, /\(no YAML\)$/],
  ]
  for (const [text, why] of rows) t.match(read(t.testdir({ 'api.yaml': text })).problem, why, text.slice(0, 60))
  t.match(read(t.testdir({})).problem, /got "api\.yaml" \(ENOENT\)$/)
  t.match(read(t.testdir({ 'api.yaml': {} })).problem, /\(EISDIR\)$/)
  for (const name of ['../api.yaml', '/etc/passwd', 'a/../../b', '', '.env', 'a\0b', 5]) {
    t.match(read(t.testdirName, name as string).problem, /must be the name of a file in the folder/, String(name))
  }
})

t.test('long segments take no long time', async (t) => {
  const { inventory } = read(
    t.testdir({ 'api.yaml': 'openapi: 3.1.0\npaths: { "/a/b{x}-y": { get: {} }, "/{p}/{q}/{r}": { get: {} } }' }),
  )
  const started = process.cpuUsage().user
  for (let i = 0; i < 50; i += 1) inventory!.match('GET', `/a/b${'-'.repeat(16_000)}`)
  t.ok(process.cpuUsage().user - started < 1_000_000)
})
