import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { leaveSoon, startExample } from './support/example-process.ts'
import { run } from './support/program.ts'
import { block, root, text } from './support/readme.ts'

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
const inRoot = { cwd: root, env, plain: true }

const project = `v${JSON.parse(readFileSync(join(root, 'node_modules/node/package.json'), 'utf8')).version}`
const machine = (await run(['node', '--version'], inRoot)).stdout.trim()

/** The README's way to start the server, after `npm ci`, which has been run for these tests. */
const [, start] = /^npm ci && (npm start)$/.exec(block('sh', 'npm ci && npm start').trim())!
const [, startDemo] = /`(npm start -- --config \S+)`/.exec(text)!

t.test(`npm runs the project's own Node (${project}), not the machine's (${machine})`, async (t) => {
  t.equal((await run(['npm', 'exec', '--offline', '--', 'node', '--version'], inRoot)).stdout.trim(), project)
})

for (const command of [start!, startDemo!]) {
  t.test(`README: \`${command}\` where the machine's Node is ${machine}`, async (t) => {
    const { child, http, examples, output, end } = await startExample(t, command.split(' '), inRoot)
    t.ok(output().includes(command === start ? 'the defaults' : 'example-server/demo.toml'), 'it says which limits')

    t.equal(examples.length, 9, 'commands to try')
    const answers: string[] = []
    for (const example of examples) {
      const answer = await run(['bash', '-c', `${leaveSoon(example)} || true`], inRoot)
      answers.push(answer.stdout)
    }
    const [publish, query, asUser, overGrpc, configuration, allowance, health, watch, uploads] = answers
    t.match(JSON.parse(publish!), { sequenceIds: ['1'] })
    t.match(JSON.parse(query!), { envelopes: [{ envelope: { topic: 'greetings' } }] })
    t.match(JSON.parse(asUser!), { envelopes: [{ sequenceId: '1' }] })
    t.match(JSON.parse(overGrpc!), { envelopes: [{ sequenceId: '1' }] })
    t.match(JSON.parse(configuration!), { rateLimitDomain: 'xmtp.org' })
    t.match(JSON.parse(allowance!), { caller: 'address 127.0.0.1', authType: 'ip' })
    t.match(JSON.parse(health!), { status: 'SERVING' })
    t.match(watch, /\{"started":\{\}\}.*\{"messages":.*"topic":"greetings"/, 'a stream, with what was published')
    const lines = uploads!.trim().split('\n')
    const admitted = lines.filter((line) => line.startsWith('{"uploadId"')).length
    if (command === startDemo) t.equal(admitted, 3, 'the limits of the demo')
    else t.ok(admitted >= 120, `${admitted} uploads, of which the defaults admit 120 at once`)
    t.match(lines.at(-1), /^\{"code":"resource_exhausted".*"category":"upload".*\}$/, 'and then no more')

    child.kill('SIGTERM')
    t.same(await end(), [0, null], 'SIGTERM ends it with code 0')
    await t.rejects(fetch(http), 'and nobody listens there any more')
  })
}
