import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'
import t from 'tap'

const urlOf = (path: string) => JSON.stringify(pathToFileURL(join(import.meta.dirname, path)))

/** A process that makes a call which is told to wait an hour, and then does no more than `and`. */
const program = (and: string) => `
  import { rateLimitInterceptor, reopening } from ${urlOf('../../src/client/index.ts')}
  import { domain, rejection, scriptedServer } from ${urlOf('../support/scripted-server.ts')}
  const options = { domain, maxWaitMs: Infinity }
  const interceptors = [rateLimitInterceptor(options)]
  const { client, seen } = scriptedServer([rejection(3_600_000)], interceptors)
  const abort = new AbortController()
  setTimeout(() => abort.abort(), 100)
  ${and}
  console.log(seen.length, 'sent')
`

for (const [name, and, says] of [
  [
    'a unary call',
    `await client.unary({}, { signal: abort.signal }).catch((error) => console.log(error.message))`,
    'aborted',
  ],
  [
    'a stream',
    `const stream = reopening((signal) => client.serverStream({}, { signal }), { ...options, signal: abort.signal })
     await stream.next().catch((error) => console.log(error.message))`,
    'aborted',
  ],
] as const) {
  t.test(`case 4: after ${name} was aborted in its wait, the process exits by itself`, async (t) => {
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program(and)], {
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: 20_000,
    })
    const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
    t.equal(code, 0, 'not by being stopped')
    t.match(output, says)
    t.match(output, '[canceled]')
    t.match(output, '1 sent')
  })
}
