// A server in a process of its own, on which the caller `writer` has nothing left: `node refusing-server.ts 1.1|2`. Prints
// its address, and ends with its input. (In one process, client and server take turns, and it is never seen what depends
// on who is first to read or to close.)
import { systemClock } from '../../src/index.ts'
import { apiKey } from './limiter-of.ts'
import { listeningMatrixApp } from './matrix-app.ts'

const { app, limiter, url } = await listeningMatrixApp(
  { teardown() {} },
  { http2: process.argv[2] === '2', limits: { request: '1/8640000' }, allowance: { clock: systemClock } },
)
limiter.spend(apiKey('writer'), 'request', 1)
process.stdout.write(`${url}\n`)
process.stdin.on('end', () => app.close()).resume()
