import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import t from 'tap'

/**
 * Which rooms of src/ may import which, and which packages: the arrows of the architecture. A room that is not listed,
 * or an import that its row does not allow, fails. `.` is the room of the files in src/ itself.
 */
const arrows: Record<string, { rooms: string[]; packages: string[] }> = {
  limit: { rooms: [], packages: [] },
  clock: { rooms: ['limit'], packages: [] },
  caller: { rooms: [], packages: ['node:net', 'ipaddr.js'] },
  policy: { rooms: ['caller', 'clock', 'limit'], packages: ['node:util', 'parse-duration', 'tinyduration', 'zod'] },
  charge: { rooms: ['policy', 'gen'], packages: ['@bufbuild/protobuf', 'zod'] },
  ledger: { rooms: ['limit', 'clock'], packages: ['node:crypto'] },
  rejection: {
    rooms: ['clock', 'gen'],
    packages: [
      '@bufbuild/protobuf',
      '@connectrpc/connect',
      'fastify',
      'node:events',
      'node:http',
      'node:http2',
      'node:net',
      'structured-headers',
    ],
  },
  limiter: { rooms: ['caller', 'clock', 'ledger', 'limit', 'policy'], packages: ['zod'] },
  request: {
    rooms: ['caller', 'charge', 'ledger', 'limiter', 'policy', 'rejection', 'stream'],
    packages: ['@connectrpc/connect', 'fastify', 'node:http2'],
  },
  connect: {
    rooms: ['charge', 'limiter', 'rejection', 'request', 'stream'],
    packages: ['@bufbuild/protobuf', '@connectrpc/connect', 'fastify', 'node:http', 'node:http2'],
  },
  http: {
    rooms: ['limiter', 'policy', 'rejection', 'request'],
    packages: ['@connectrpc/connect', 'fastify', 'node:http2'],
  },
  client: { rooms: ['rejection', 'gen'], packages: ['@connectrpc/connect'] },
  stream: { rooms: ['clock'], packages: [] },
  gen: { rooms: [], packages: ['@bufbuild/protobuf'] },
  '.': {
    rooms: [
      'caller',
      'charge',
      'clock',
      'connect',
      'http',
      'limit',
      'limiter',
      'policy',
      'rejection',
      'request',
      'stream',
    ],
    packages: [
      '@bufbuild/protobuf',
      '@connectrpc/connect',
      '@connectrpc/connect-fastify',
      'fastify',
      'fastify-plugin',
      'node:http2',
      'zod',
    ],
  },
}

const src = resolve(import.meta.dirname, '../src')

const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => join(src, name))

function roomOf(file: string): string {
  const path = relative(src, file)
  return path.includes(sep) ? path.slice(0, path.indexOf(sep)) : '.'
}

function importsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8')
  const declarations = /^(?:import\b[^'"]*|export (?:type )?(?:\{[^}]*\}|\*[^'"]*) from )['"]([^'"]+)['"]/gm
  const calls = /\bimport\(\s*['"]([^'"]+)['"]/g
  return [...text.matchAll(declarations), ...text.matchAll(calls)].map((match) => match[1]!)
}

function packageOf(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
}

t.ok(files.length > 20, 'the sources are found')
for (const file of files) {
  const room = roomOf(file)
  const row = arrows[room]
  t.ok(row, `${room} is a room of the architecture`)
  for (const specifier of importsOf(file)) {
    const name = `${relative(src, file)} imports ${specifier}`
    if (specifier.startsWith('.')) {
      const target = roomOf(resolve(dirname(file), specifier))
      t.ok(target === room || row?.rooms.includes(target), name)
    } else {
      t.ok(row?.packages.includes(packageOf(specifier)), name)
    }
  }
}

t.test('the arrows form no circle between rooms', (t) => {
  const visit = (room: string, path: string[]): void => {
    if (path.includes(room)) return void t.fail([...path, room].join(' → '))
    for (const next of arrows[room]!.rooms) visit(next, [...path, room])
  }
  for (const room of Object.keys(arrows)) visit(room, [])
  t.end()
})

t.test(
  'what browsers load: of other rooms the client reads only the wire details, and nothing of it is of Node',
  (t) => {
    const loaded = new Set(files.filter((file) => roomOf(file) === 'client'))
    const packages = new Set<string>()
    for (const file of loaded) {
      for (const specifier of importsOf(file)) {
        if (specifier.startsWith('.')) loaded.add(resolve(dirname(file), specifier))
        else packages.add(packageOf(specifier))
      }
    }
    const others = [...loaded].filter((file) => roomOf(file) !== 'client').map((file) => relative(src, file))
    t.same(others.sort(), [join('gen', 'google', 'rpc', 'error_details_pb.ts'), join('rejection', 'reason.ts')])
    t.same([...packages].sort(), ['@bufbuild/protobuf', '@connectrpc/connect'])
    t.end()
  },
)
