import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { listeningMatrixApp, pathOf } from '../support/matrix-app.ts'

/** An envelope of one byte that is no message. */
const bad = Buffer.from([0, 0, 0, 0, 1, 0x78])
const types = ['application/connect+json', 'application/connect+proto', 'application/grpc-web+proto']

for (const type of types) {
  for (const framing of ['content-length', 'chunked', 'more to come'] as const) {
    t.test(
      `HTTP/1.1: a client stream that cannot be decoded ends its own call only: ${type}, ${framing}`,
      async (t) => {
        const { url } = await listeningMatrixApp(t, {})
        const unhandled: unknown[] = []
        const note = (error: unknown) => unhandled.push(error)
        process.on('unhandledRejection', note)
        t.teardown(() => process.off('unhandledRejection', note))
        const body =
          framing === 'content-length'
            ? bad
            : new ReadableStream({
                start(controller) {
                  controller.enqueue(bad)
                  if (framing === 'chunked') controller.close()
                },
              })
        const headers = { 'content-type': type }
        const answer = await fetch(url + pathOf('ClientStream'), {
          method: 'POST',
          headers,
          body,
          duplex: 'half',
        } as RequestInit)
        t.equal(answer.status, 200)
        await answer.text().catch(() => {})
        for (let turns = 0; turns < 10; turns++) await turn()
        t.same(unhandled, [])
      },
    )
  }
}
