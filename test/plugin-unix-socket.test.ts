import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { matrixApp, pathOf, rateLimits } from './support/matrix-app.ts'
import { headOf } from './support/raw-http1.ts'
import { send } from './support/raw-http2.ts'

const json = { 'content-type': 'application/json' }

t.test('RATE-002: peers on a Unix socket are one caller, or trusted where the list holds "unix"', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'allowance-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  let sockets = 0

  for (const http2 of [false, true]) {
    for (const [trustedProxies, charged] of [
      [[], 'unix'],
      [['127.0.0.1'], 'unix'],
      [['unix'], '203.0.113.9'],
      [['unix', '203.0.113.0/24'], '198.51.100.66'],
    ] as const) {
      t.test(`over ${http2 ? 'HTTP/2' : 'HTTP/1.1'}, trusted: ${trustedProxies.join(', ') || 'none'}`, async (t) => {
        const { app, limiter } = await matrixApp(t, {
          http2,
          allowance: { identify: undefined, rateLimits: { ...rateLimits({ request: '10/60' }), trustedProxies } },
        })
        const path = join(folder, `${++sockets}.sock`)
        await app.listen({ path })
        const forwardedFor = '198.51.100.66, 203.0.113.9'
        if (http2) {
          const session = connectHttp2('http://localhost', { createConnection: () => connect(path) })
          t.teardown(() => session.destroy())
          for (let i = 0; i < 2; i++) {
            const headers = { ...json, 'x-forwarded-for': forwardedFor }
            t.equal((await send(session, pathOf('Undeclared'), headers, '{}')).status, 200)
          }
        } else {
          for (let i = 0; i < 2; i++) {
            const socket = connect(path)
            t.teardown(() => socket.destroy())
            const answered = once(socket, 'data')
            socket.write(
              `${headOf(pathOf('Undeclared'), [
                ['x-forwarded-for', forwardedFor],
                ['content-type', 'application/json'],
                ['content-length', 2],
              ])}{}`,
            )
            t.match(String((await answered)[0]), /^HTTP\/1\.1 200/)
          }
        }
        const left = ['unix', '203.0.113.9', '198.51.100.66'].map(
          (address) => [address, limiter.remaining({ type: 'ip', address }, 'request')[0]!.units] as const,
        )
        t.same(
          left,
          left.map(([address]) => [address, address === charged ? 8 : 10]),
        )
      })
    }
  }
})
