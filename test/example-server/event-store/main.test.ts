import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { outcome, run } from '../../support/program.ts'
import { startSystem } from '../../support/system-process.ts'

const NPM = ['npm', 'run', '-s', 'event-store', '--']
const MAIN = [process.execPath, 'example-server/event-store/main.ts']
const ENV = { ...process.env, PORT: '0', HOST: '127.0.0.1', GOMAXPROCS: '' }

t.test('npm run event-store serves what its banner says, the page too, and ends on SIGTERM', async (t) => {
  const command = [...NPM, '--database', `${t.testdir()}/events.sqlite`, '--rate-limit-requests-per-second', '50']
  const { child, output, url, examples, end } = await startSystem(t, command, { env: { ...ENV, GOMAXPROCS: '3' } })
  const banner = output()
  t.match(banner, /CPUs {5}3, says the GOMAXPROCS/)
  t.match(banner, /Client {3}50 units per second and 256 open streams/)
  t.match(banner, /Global {3}30000 units per second/)
  const page = await fetch(url)
  t.equal(page.status, 200)
  t.match(page.headers.get('ratelimit'), /^"client";r=\d+;t=1$/)
  const html = await page.text()
  for (const [, path] of html.matchAll(/(?:src|href)="(\/[^"]+)"/g)) {
    const answer = await fetch(url + path)
    t.equal(answer.status, 200, path!)
    t.equal(answer.headers.get('cache-control'), 'no-cache', 'browsers ask for each file again')
    await answer.arrayBuffer()
    const again = await fetch(url + path, { headers: { 'if-none-match': answer.headers.get('etag')! } })
    t.equal(again.status, 304)
  }
  const [ping, write, observe] = examples
  t.match((await run(['bash', '-c', ping!])).stdout, /^HTTP\/1\.1 200 [\s\S]*\r\nratelimit: "client";r=\d+/)
  t.match((await run(['bash', '-c', write!])).stdout, /^HTTP\/1\.1 200 [\s\S]*"subject":"\/books\/42"/)
  const { stdout } = await run(['bash', '-c', `${observe!} --max-time 1 || true`])
  t.match(stdout, /^\{"type":"heartbeat","payload":\{\}\}\n\{"type":"event","payload":/)
  child.kill('SIGTERM')
  t.same(await end(), [0, null])
})

t.test('GOMAXPROCS is kept from the bundler of the page, which would run as many threads', async (t) => {
  const dir = t.testdir({})
  const bundler = `${dir}/esbuild`
  const real = join(process.cwd(), 'node_modules/esbuild/bin/esbuild')
  await writeFile(
    bundler,
    `#!/bin/sh\necho "GOMAXPROCS=$GOMAXPROCS" >>'${dir}/log'\nunset ESBUILD_BINARY_PATH\nexec '${real}' "$@"\n`,
    { mode: 0o755 },
  )
  const env = { ...ENV, GOMAXPROCS: '7', ESBUILD_BINARY_PATH: bundler }
  const { output } = await startSystem(t, MAIN, { env })
  t.match(output(), /CPUs {5}7, says the GOMAXPROCS/)
  t.equal(await readFile(`${dir}/log`, 'utf8'), 'GOMAXPROCS=\n')
})

t.test('what is wrong stops the start with code 1, a negative rate limit in these words', async (t) => {
  const dir = t.testdir({
    'no.sqlite': 'this is no database, but a text that is long enough to be looked at'.repeat(20),
  })
  const [negative, database] = await Promise.all([
    outcome([...NPM, '--rate-limit-requests-per-second', '-1e3'], { env: ENV }),
    outcome([...MAIN, '--database', `${dir}/no.sqlite`], { env: ENV }),
  ])
  t.same(negative, { code: 1, stdout: '', stderr: 'you must not specify a negative rate limit\n' })
  t.match(database, { code: 1, stdout: '', stderr: /^--database: .*; allowed: a file that SQLite can write\n$/ })
})
