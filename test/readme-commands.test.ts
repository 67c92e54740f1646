import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { leaveSoon, untilBanner } from './support/example-process.ts'
import { block, root, text } from './support/readme.ts'

const run = promisify(execFile)

/**
 * The environment of somebody who has just cloned this repository: without what npm and the test runner add for their
 * children. `npm` and the `node` that runs it are the machine's own.
 */
const env = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(npm_|NODE|TAP_|PORT$|H2C_PORT$|HOST$)/i.test(name)),
)
env.PATH = env
  .PATH!.split(':')
  .filter((folder) => !/node_modules\/(\.bin|npm\/|@npmcli\/)/.test(`${folder}/`))
  .join(':')
const inRoot = { cwd: root, env, timeout: 60_000 }

const project = `v${JSON.parse(readFileSync(join(root, 'node_modules/node/package.json'), 'utf8')).version}`
const machine = (await run('node', ['--version'], inRoot)).stdout.trim()

/** The README's way to start the server, after `npm ci`, which has been run for these tests. */
const [, start] = /^npm ci && (npm start)$/.exec(block('sh', 'npm ci && npm start').trim())!
const [, startDemo] = /`(npm start -- --config \S+)`/.exec(text)!

t.test(`npm runs the project's own Node (${project}), not the machine's (${machine})`, async (t) => {
  t.equal((await run('npm', ['exec', '--offline', '--', 'node', '--version'], inRoot)).stdout.trim(), project)
})

for (const command of [start!, startDemo!]) {
  t.test(`README: \`${command}\` where the machine's Node is ${machine}`, async (t) => {
    const [npm, ...args] = command.split(' ')
    const child = spawn(npm!, args, { ...inRoot, env: { ...env, PORT: '0' }, stdio: 'pipe' })
    t.teardown(() => child.kill('SIGKILL'))
    const { http, examples, output } = await untilBanner(child)
    t.ok(output().includes(command === start ? 'the defaults' : 'example-server/demo.toml'), 'it says which limits')

    t.equal(examples.length, 8, 'commands to try')
    const answers: string[] = []
    for (const example of examples) {
      const answer = await run('bash', ['-c', `${leaveSoon(example)} || true`], inRoot)
      answers.push(answer.stdout)
    }
    const [publish, query, asUser, configuration, allowance, health, watch, uploads] = answers
    t.match(JSON.parse(publish!), { sequenceIds: ['1'] })
    t.match(JSON.parse(query!), { envelopes: [{ envelope: { topic: 'greetings' } }] })
    t.match(JSON.parse(asUser!), { envelopes: [{ sequenceId: '1' }] })
    t.match(JSON.parse(configuration!), { rateLimitDomain: 'xmtp.org' })
    t.match(JSON.parse(allowance!), { caller: 'address 127.0.0.1', authType: 'ip' })
    t.match(JSON.parse(health!), { status: 'SERVING' })
    t.match(watch, /\{"started":\{\}\}.*\{"messages":.*"topic":"greetings"/, 'a stream, with what was published')
    const lines = uploads!.trim().split('\n')
    const admitted = lines.filter((line) => line.startsWith('{"uploadId"')).length
    if (command === startDemo) t.equal(admitted, 3, 'the limits of the demo')
    else t.ok(admitted >= 120, `${admitted} uploads, of which the defaults admit 120 at once`)
    t.match(lines.at(-1), /^\{"code":"resource_exhausted".*"category":"upload".*\}$/, 'and then no more')

    const exit = once(child, 'exit')
    child.kill('SIGTERM')
    t.same(await exit, [0, null], 'SIGTERM ends it with code 0')
    await t.rejects(fetch(http), 'and nobody listens there any more')
  })
}
