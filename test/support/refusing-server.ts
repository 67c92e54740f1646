// A server in a process of its own, on which the caller `writer` has nothing left: `node refusing-server.ts 1.1|2`. Prints
// its address, and ends when its input does. In one process, client and server take turns, and what depends on who is first
// to read or to close is not seen.
import { systemClock } from '../../src/index.ts'
import { apiKey } from './limiter-of.ts'
import { listeningMatrixApp } from './matrix-app.ts'

const http2 = process.argv[2] === '2'
const server = await listeningMatrixApp(
  { teardown() {} },
  {
    http2,
    limits: { request: '1/8640000' },
    // Never full again while a test runs, so that every answer is the same but for the time that has passed.
    allowance: { clock: systemClock },
  },
)
server.limiter.spend(apiKey('writer'), 'request', 1)
process.stdout.write(`${server.url}\n`)
process.stdin.on('end', () => server.app.close()).resume()
