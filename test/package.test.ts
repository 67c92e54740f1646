import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import t from 'tap'
import { block, blocks, root } from './support/readme.ts'

/** Runs a program without the loaders that the test runner hands to every Node below it, which break some. */
const plain = ['--unset=NODE_OPTIONS']
const run = (command: string, args: readonly string[], options: { cwd?: string; env?: NodeJS.ProcessEnv } = {}) =>
  promisify(execFile)('env', [...plain, command, ...args], options)

/**
 * The README followed by a newcomer: the package as it would be published, installed in an empty folder with the
 * README's own commands, its files written as they stand there, generated, type-checked and run.
 */
const home = t.testdir({ 'package.json': '{ "private": true, "type": "module" }' })
const inHome = { cwd: home, env: { ...process.env, PATH: `${join(home, 'node_modules/.bin')}:${process.env.PATH}` } }

t.before(async () => {
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', home], { cwd: root })
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
  for (const command of [install!.replace('fastify-allowance', `./${tarball.filename}`), installTools!]) {
    await run('npm', [...command.split(' ').slice(1), '--prefer-offline', '--no-audit', '--no-fund'], {
      cwd: home,
    })
  }
  for (const { file, content } of blocks) {
    if (file === undefined) continue
    mkdirSync(dirname(join(home, file)), { recursive: true })
    writeFileSync(join(home, file), content)
  }
  await run('npx', ['buf', 'generate'], inHome)
})

t.test('the README’s service is generated, and type-checks in strict mode', async (t) => {
  const compilerOptions = {
    ...JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8')).compilerOptions,
    lib: ['es2024', 'dom', 'dom.iterable'],
    skipLibCheck: false,
    types: ['node'],
  }
  writeFileSync(join(home, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts', 'gen'] }))
  const { stdout } = await run('npx', ['tsc', '-p', '.'], inHome).catch((error: { stdout: string }) => error)
  t.equal(stdout, '')
})

t.test('README: a limiter without Fastify', async (t) => {
  t.equal((await run(process.execPath, ['limiter.ts'], inHome)).stdout, 'as expected\n')
})

t.test('README: the server runs, and answers its curl commands as it says', async (t) => {
  const server = spawn('env', [...plain, process.execPath, 'server.ts'], {
    ...inHome,
    env: { ...inHome.env, PORT: '0' },
  })
  t.teardown(() => server.kill())
  const port = await listeningPort(server)

  const answers = []
  for (const command of block('sh', 'curl --json').trim().split('\n')) {
    const withPort = command.replace(':8080', `:${port}`)
    answers.push((await run('sh', ['-c', `${withPort} --silent --include`])).stdout)
  }
  t.match(answers[0], /^HTTP\/1.1 200 OK/)
  t.match(answers[1], /^HTTP\/1.1 429 Too Many Requests/)
  t.match(answers[1], /^retry-after: 6\r$/im)

  const answer = JSON.parse(answers[1]!.slice(answers[1]!.indexOf('{')))
  const expected = JSON.parse(block('json', '{'))
  t.same(answer.details[0], expected.details[0])
  t.match(answer.message, /^rate limit of category notes exceeded \(retry in [1-6]\d{3} ms\)$/)
  t.match(expected.message, /^rate limit of category notes exceeded \(retry in [1-6]\d{3} ms\)$/)
  t.equal(answer.code, expected.code)
  t.equal(answer.details[1].type, expected.details[1].type)

  const outputOf = async (program: string) =>
    (await run(process.execPath, [program], { ...inHome, env: { ...inHome.env, PORT: port } })).stdout
  t.match(await outputOf('client.ts'), /^no notes left, again in [1-6]\d{3} ms\n$/, 'README: the client')
  t.match(await outputOf('waiting-client.ts'), /^(notes: again in \d+ ms\n)+saved\n$/, 'README: the client that waits')
})

/** Waits for the first line that the server prints, its address. */
async function listeningPort(server: ChildProcess): Promise<string> {
  const errors = text(server.stderr!)
  const [line] = await Promise.race([
    once(createInterface(server.stdout!), 'line'),
    once(server, 'exit').then(async () => Promise.reject(new Error(`the server ended: ${await errors}`))),
  ])
  return new URL(line).port
}
