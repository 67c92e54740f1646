import { createHash } from 'node:crypto'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import type { FastifyRequest } from 'fastify'
import t from 'tap'
import { listeningMatrixApp, pathOf } from '../support/matrix-app.ts'

/** A MatrixRequest with two items. */
const body = Buffer.from([0x0a, 1, 0x61, 0x0a, 1, 0x62])

const readers: Record<string, (raw: FastifyRequest['raw']) => void> = {
  nobody: () => {},
  'a listener': (raw) => raw.on('data', () => {}),
  'a hash that it is piped to': (raw) => raw.pipe(createHash('sha256')),
}

for (const [who, read] of Object.entries(readers)) {
  for (const framing of ['content-length', 'transfer-encoding']) {
    t.test(`HTTP/1.1: an RPC gets all of its body, with ${framing}, when it is read along by ${who}`, async (t) => {
      const { port } = await listeningMatrixApp(t, {
        before(app) {
          app.addHook('onRequest', (request, _reply, done) => {
            read(request.raw)
            done()
          })
        },
      })
      const length = framing === 'content-length' ? String(body.length) : 'chunked'
      const headers = { 'content-type': 'application/proto', [framing]: length }
      const answer = await new Promise<string>((resolve, reject) => {
        request({ port, host: '127.0.0.1', method: 'POST', path: pathOf('Unary'), headers }, (response) =>
          text(response).then(resolve, reject),
        )
          .on('error', reject)
          .end(body)
      })
      t.match(answer, /2 items$/)
    })
  }
}
