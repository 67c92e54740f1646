import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { outcome, run, start } from './support/program.ts'
import { block, blocks, root, text } from './support/readme.ts'

/** A service whose .proto is not the newcomer's own. */
const THEIR_PROTO = `syntax = "proto3";
package theirs.v1;
service SearchService {
  rpc Search(SearchRequest) returns (SearchResponse);
}
service Reflection {
  rpc List(ListRequest) returns (ListResponse);
}
message SearchRequest {
  repeated string terms = 1;
}
message SearchResponse {}
message ListRequest {}
message ListResponse {}
`

/** An app with what theirs.ts and cors.ts say, which prints what comes of a preflight, and of three terms where two are admitted. */
const TRY_THEIRS = `
import { fastifyConnectPlugin } from '@connectrpc/connect-fastify'
import cors from '@fastify/cors'
import { fastify } from 'fastify'
import allowance from 'fastify-allowance'
import { corsOptions } from './cors.ts'
import { Reflection, SearchService } from './gen/theirs/v1/theirs_pb.ts'
import { charges } from './theirs.ts'

const app = fastify()
await app.register(cors, corsOptions)
const categories = { request: { default: [{ count: 4, windowSeconds: 60 }] }, search: { default: [{ count: 2, windowSeconds: 60 }] } }
await app.register(allowance, { domain: 'example.com', rateLimits: { categories }, charges })
await app.register(
  fastifyConnectPlugin,
  app.allowance.connect({
    routes: (router) => router.service(SearchService, { search: () => ({}) }).service(Reflection, { list: () => ({}) }),
  }),
)
const headers = { origin: 'https://app.example.com' }
const post = (url: string, payload: object) => app.inject({ method: 'POST', url, headers, payload })
for (let i = 0; i < 10; i++) await post('/theirs.v1.Reflection/List', {})
const answers = [
  await app.inject({ method: 'OPTIONS', url: '/theirs.v1.SearchService/Search', headers: { ...headers, 'access-control-request-method': 'POST' } }),
  await post('/theirs.v1.Reflection/List', {}),
  await post('/theirs.v1.SearchService/Search', { terms: ['a', 'b'] }),
  await post('/theirs.v1.SearchService/Search', { terms: ['c'] }),
]
console.log(JSON.stringify(answers.map(({ statusCode, headers, body }) => ({ statusCode, headers, body }))))
`

/**
 * Prints what can be seen of a process before and after it imports the package: globals and what hangs on them, listeners,
 * environment, and what keeps the process alive. What the package imports is imported before: it answers for itself.
 */
const LOOK_FOR_EFFECTS = `
import '@bufbuild/protobuf/codegenv2'
import '@bufbuild/protobuf/wkt'
import '@connectrpc/connect/protocol'
import '@connectrpc/connect/protocol-connect'
import '@connectrpc/connect/protocol-grpc'
import '@connectrpc/connect/protocol-grpc-web'
import '@connectrpc/connect-fastify'
import 'fastify'
import 'fastify-plugin'
import 'ipaddr.js'
import { z } from 'zod'

z.object({}) // zod sets itself up for its first schema

const names = (holder) => Reflect.ownKeys(holder).map(String)
function seen() {
  const globals = names(globalThis).flatMap((name) => {
    const value = Object.getOwnPropertyDescriptor(globalThis, name)?.value
    if (value === null || !['function', 'object'].includes(typeof value)) return [name]
    const members = [...names(value), ...(value.prototype ? names(value.prototype).map((key) => 'prototype.' + key) : [])]
    return [name, ...members.map((key) => name + '.' + key)]
  })
  const listeners = process.eventNames().map((event) => 'on ' + String(event) + ': ' + process.listenerCount(event))
  const environment = Object.entries(process.env).map((entry) => entry.join('='))
  return [...globals, ...listeners, ...environment, ...process.getActiveResourcesInfo(), process.exitCode ?? 'no exit code']
}
const before = seen()
const exported = Object.keys(await import('fastify-allowance'))
console.log(JSON.stringify({ before, after: seen(), exported }))
`

/**
 * The README followed by a newcomer: the package as it would be published, installed in an empty folder with the
 * README's own commands, its files written as they stand there, generated, type-checked and run.
 */
const home = t.testdir({ 'package.json': '{ "private": true, "type": "module" }' })
const inHome = {
  cwd: home,
  env: { ...process.env, PATH: `${join(home, 'node_modules/.bin')}:${process.env.PATH}` },
  plain: true,
}

/** Packing builds, and installing may fetch. */
const byNpm = { plain: true, withinMs: 90_000 }

interface Manifest {
  type: string
  sideEffects: boolean
  engines: Record<string, string>
  scripts: Record<string, string>
  exports: Record<string, string | { types: string; default: string }>
  dependencies: Record<string, string>
  peerDependencies: Record<string, string>
}
const installed = join(home, 'node_modules/fastify-allowance')
let manifest: Manifest
let packed: string[]

t.before(async () => {
  const { stdout } = await run(['npm', 'pack', '--json', '--pack-destination', home], { ...byNpm, cwd: root })
  const [tarball] = JSON.parse(stdout.slice(stdout.indexOf('['))) as [{ filename: string; files: { path: string }[] }]
  const paths = tarball.files.map(({ path }) => path)
  t.ok(paths.includes('proto/allowance/v1/charge.proto'), 'the .proto to import is in the package')
  t.ok(paths.includes('dist/index.d.ts') && paths.includes('dist/index.js'))
  t.match(
    paths.filter((path) => !/^(dist|proto\/allowance)\//.test(path)).sort(),
    ['CHANGELOG.md', 'LICENSE', 'README.md', 'package.json'],
    'and nothing that users do not need',
  )

  const [install, installTools] = block('sh', 'npm install fastify-allowance').trim().split('\n')
  for (const command of [
    install!.replace('fastify-allowance', `./${tarball.filename}`),
    installTools!,
    'npm install @fastify/cors',
  ]) {
    await run([...command.split(' '), '--prefer-offline', '--no-audit', '--no-fund'], { ...byNpm, cwd: home })
  }
  manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
  packed = paths
  const files = [
    ...blocks,
    { file: 'proto/theirs/v1/theirs.proto', content: THEIR_PROTO },
    { file: 'try-theirs.ts', content: TRY_THEIRS },
  ]
  for (const { file, content } of files) {
    if (file === undefined) continue
    mkdirSync(dirname(join(home, file)), { recursive: true })
    writeFileSync(join(home, file), content)
  }
  await run(['npx', 'buf', 'generate'], inHome)
})

t.test('the packed manifest says what the package is, and what it needs', async (t) => {
  t.match(manifest, { name: 'fastify-allowance', type: 'module', sideEffects: false, engines: { node: '>=22' } })
  t.same(
    Object.keys(manifest.peerDependencies).sort(),
    ['@bufbuild/protobuf', '@connectrpc/connect', '@connectrpc/connect-fastify', 'fastify'],
    'what an app has itself, and must have once only',
  )
  const scripts = Object.keys(manifest.scripts)
  t.notOk(
    scripts.some((name) => /^(pre|post)?(install|prepare)$/.test(name)),
    'nothing to run at install, or to warn of',
  )
  t.match(manifest.peerDependencies.fastify, /^\^5\./)

  const needed = new Set<string>()
  for (const path of packed.filter((path) => /^dist\/.*\.(js|d\.ts)$/.test(path))) {
    const content = readFileSync(join(installed, path), 'utf8')
    t.notMatch(content, /^import ['"]/m, `${path} imports nothing for its effects alone`)
    for (const [, name] of content.matchAll(
      /(?:^(?:import|export|\}) ?.*\bfrom |\bimport\()['"](?!node:)((?:@[\w-]+\/)?[\w-][\w.-]*)/gm,
    ))
      needed.add(name!)
  }
  const declared = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })
  t.same([...needed].sort(), declared.sort(), 'it needs what it declares')
})

t.test('every export is there with its types, and nothing else can be imported', async (t) => {
  for (const [name, target] of Object.entries(manifest.exports)) {
    const targets = typeof target === 'string' ? [target] : [target.types, target.default]
    for (const path of targets) t.ok(packed.includes(path.replace('./', '')), `${name}: ${path} is packed`)
    if (typeof target !== 'string') t.match(targets, [/\.d\.ts$/, /\.js$/], `${name} has types`)
  }
  for (const path of packed.filter((path) => /^dist\/.*\.js$/.test(path))) {
    t.ok(packed.includes(path.replace(/\.js$/, '.d.ts')), `${path} has types`)
  }
  const code = "import('fastify-allowance/dist/limiter.js').catch(({ code }) => console.log(code))"
  t.equal((await run([process.execPath, '--eval', code], inHome)).stdout.trim(), 'ERR_PACKAGE_PATH_NOT_EXPORTED')
})

t.test('sideEffects: false is true: importing the package leaves no trace', async (t) => {
  const { stdout, stderr } = await run([process.execPath, '--input-type=module', '--eval', LOOK_FOR_EFFECTS], inHome)
  t.equal(stderr, '')
  const { before, after, exported } = JSON.parse(stdout)
  t.ok(exported.includes('default') && exported.includes('createLimiter'), `${exported}`)
  t.ok(before.length > 1000, `${before.length} things looked at`)
  t.same(after, before)
})

t.test('the README’s service is generated, and type-checks in strict mode', async (t) => {
  const compilerOptions = {
    ...JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8')).compilerOptions,
    lib: ['es2024', 'dom', 'dom.iterable'],
    skipLibCheck: false,
    types: ['node'],
  }
  writeFileSync(join(home, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts', 'gen'] }))
  const { stdout } = await outcome(['npx', 'tsc', '-p', '.'], inHome)
  t.equal(stdout, '')
})

t.test('README: a limiter without Fastify', async (t) => {
  t.equal((await run([process.execPath, 'limiter.ts'], inHome)).stdout, 'as expected\n')
})

t.test('README: plain HTTP routes, and the refusal that it shows', async (t) => {
  const { stdout } = await run([process.execPath, 'plain.ts'], inHome)
  const [, status, fields, body, health] = /^(\d+) (.*?) (\{.*\}) (\d+)\n$/.exec(stdout)!
  // A slow machine may have earned back some of it meanwhile.
  const asShown = (said: string) => said.replace(/(t=|Retry in )1\d\b/, (_, start) => `${start}20`)
  t.same([status, asShown(fields!), health], ['429', '"caller-60";r=0;t=20', '200'])
  t.same(JSON.parse(asShown(body!)), JSON.parse(block('json', '{\n  "type"')))
})

t.test('README: bounds', async (t) => {
  const { stdout } = await run([process.execPath, 'bounds.ts'], inHome)
  t.equal(stdout, '200 report 200 trial\n')
  t.ok(text.includes(`prints \`${stdout.trim()}\``))
})

t.test('README: charges in TypeScript, and what browsers may read', async (t) => {
  const { stdout } = await run([process.execPath, 'try-theirs.ts'], inHome)
  const [preflight, free, admitted, denied] = JSON.parse(stdout)
  t.match(preflight, { statusCode: 204, headers: { 'access-control-allow-origin': 'https://app.example.com' } })
  t.match(preflight.headers['access-control-allow-methods'], /POST/)
  t.match(free, { statusCode: 200 }, 'as often as one likes')
  t.match(admitted, { statusCode: 200 })
  t.match(denied, { statusCode: 429, headers: { 'retry-after': '30' }, body: /"category":"search"/ })
  for (const { headers } of [admitted, denied]) t.match(headers['access-control-expose-headers'], /\bRetry-After\b/)
})

t.test('README: the server runs, and answers its curl commands as it says', async (t) => {
  const inHomeAt = (port: string) => ({ ...inHome, env: { ...inHome.env, PORT: port } })
  const server = start(t, [process.execPath, 'server.ts'], inHomeAt('0'))
  const { port } = new URL((await server.until(/^.*\n/))[0])

  const answers = []
  for (const command of block('sh', 'curl --json').trim().split('\n')) {
    const withPort = command.replace(':8080', `:${port}`)
    answers.push((await run(['sh', '-c', `${withPort} --silent --include`])).stdout)
  }
  t.match(answers[0], /^HTTP\/1.1 200 OK/)
  t.match(answers[1], /^HTTP\/1.1 429 Too Many Requests/)
  t.match(answers[1], /^retry-after: 6\r$/im)

  const answer = JSON.parse(answers[1]!.slice(answers[1]!.indexOf('{')))
  const expected = JSON.parse(block('json', '{\n  "code"'))
  t.same(answer.details[0], expected.details[0])
  t.match(answer.message, /^rate limit of category notes exceeded \(retry in [1-6]\d{3} ms\)$/)
  t.match(expected.message, /^rate limit of category notes exceeded \(retry in [1-6]\d{3} ms\)$/)
  t.equal(answer.code, expected.code)
  t.equal(answer.details[1].type, expected.details[1].type)

  const outputOf = async (program: string) => (await run([process.execPath, program], inHomeAt(port))).stdout
  t.match(await outputOf('client.ts'), /^no notes left, again in [1-6]\d{3} ms\n$/, 'README: the client')
  t.match(await outputOf('waiting-client.ts'), /^(notes: again in \d+ ms\n)+saved\n$/, 'README: the client that waits')
})
