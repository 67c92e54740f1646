import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { run } from '../support/program.ts'

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
    const { stdout } = await run([process.execPath, '--input-type=module', '--eval', program(and)])
    t.match(stdout, says)
    t.match(stdout, '[canceled]')
    t.match(stdout, '1 sent')
  })
}
