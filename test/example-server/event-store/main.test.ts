import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'

function run(args: string[], env: NodeJS.ProcessEnv = {}) {
  const child = spawn('npm', ['run', '-s', 'event-store', '--', ...args], {
    env: { ...process.env, PORT: '0', ...env },
  })
  let output = ''
  let errors = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  child.stderr.on('data', (chunk) => {
    errors += chunk
  })
  return { child, output: () => output, errors: () => errors, exit: once(child, 'close').then(([code]) => code) }
}

t.test('npm run event-store serves what its banner says, the page too, and ends on SIGTERM', async (t) => {
  const file = `${t.testdir()}/events.sqlite`
  const { child, output, exit } = run(['--database', file, '--rate-limit-requests-per-second', '50'], {
    GOMAXPROCS: '3',
  })
  t.teardown(() => child.kill('SIGKILL'))
  while (!/observe-events\n\n/.test(output())) await once(child.stdout, 'data')
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(output())![0]
  t.match(output(), /CPUs {5}3, says the GOMAXPROCS/)
  t.match(output(), /Client {3}50 units per second and 256 open streams/)
  const page = await fetch(url)
  t.equal(page.status, 200)
  t.match(page.headers.get('ratelimit'), /r=49/)
  const html = await page.text()
  for (const [, path] of html.matchAll(/(?:src|href)="(\/[^"]+)"/g)) {
    const answer = await fetch(url + path!)
    t.equal(answer.status, 200, path!)
    t.equal(answer.headers.get('cache-control'), 'no-cache', 'browsers ask for each file again')
    await answer.arrayBuffer()
    const again = await fetch(url + path, { headers: { 'if-none-match': answer.headers.get('etag')! } })
    t.equal(again.status, 304)
  }
  for (const [, json, path] of output().matchAll(/--json '(.*)' http:\/\/[^/]+(\/\S+)/g)) {
    const headers = { authorization: 'Bearer demo-api-token', 'content-type': 'application/json' }
    const answer = await fetch(url + path, { method: 'POST', headers, body: json! })
    t.equal(answer.status, 200, path!)
    await answer.body!.cancel()
  }
  process.kill(child.pid!, 'SIGTERM')
  t.equal(await exit, 0)
})

t.test('a negative rate limit stops the start', async (t) => {
  const { errors, output, exit } = run(['--rate-limit-requests-per-second', '-1'])
  t.equal(await exit, 1)
  t.equal(errors(), 'you must not specify a negative rate limit\n')
  t.equal(output(), '')
})

t.test('a database that is none stops the start', async (t) => {
  const dir = t.testdir({
    'no.sqlite': 'this is no database, but a text that is long enough to be looked at'.repeat(20),
  })
  const { errors, exit } = run(['--database', `${dir}/no.sqlite`])
  t.equal(await exit, 1)
  t.match(errors(), /^--database: .*; allowed: a file that SQLite can write\n$/)
})
