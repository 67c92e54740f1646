import type { ServiceImpl } from '@connectrpc/connect'
import t from 'tap'
import { allowanceOf } from '../../src/index.ts'
import type { LiveService } from '../gen/test/v1/live_pb.ts'
import { gate, headers, liveApp, liveClients, until } from '../support/live-app.ts'
import type { Teardown } from '../support/matrix-app.ts'
import { ofConnectError, rejectionOf } from '../support/rejection.ts'

/** What a handler does after its third message, none of which may change what its client reads. */
const afterwards: Record<string, (signal: AbortSignal) => Promise<unknown>> = {
  'waits for ever, whatever its signal says': () => new Promise(() => {}),
  'waits until its signal is aborted, and returns': (signal) =>
    new Promise((resolve) => signal.addEventListener('abort', resolve)),
  'throws something else when its signal is aborted': (signal) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('something else')))),
}

const three = ['1', '2', '3']

/** A server's own complaints: an answer that was written twice, a rejection that nobody handled. */
const complaints = (t: Teardown) => {
  const said: unknown[] = []
  const listen = (error: unknown) => said.push(error)
  const { error } = console
  console.error = (...words: unknown[]) => said.push(words)
  process.on('unhandledRejection', listen)
  process.on('uncaughtException', listen)
  t.teardown(() => {
    console.error = error
    process.off('unhandledRejection', listen)
    process.off('uncaughtException', listen)
  })
  return said
}

for (const http2 of [false, true]) {
  t.test(
    `case 3: three messages, then the rent of the next period is denied, over HTTP/${http2 ? 2 : 1.1}`,
    async (t) => {
      const said = complaints(t)
      let after = afterwards['waits for ever, whatever its signal says']!
      let reason: unknown
      let sent = gate()
      const live: ServiceImpl<typeof LiveService>['watch'] = async function* ({ topics }, context) {
        const stream = await allowanceOf(context).openStream(topics)
        stream.signal.addEventListener('abort', () => {
          reason = stream.signal.reason
        })
        for (const text of three) yield { text }
        sent.open()
        await after(stream.signal)
      }
      const { clock, url, advance, spend } = await liveApp(
        t,
        {
          watch: live,
          async *subscribe(messages, context) {
            for await (const message of messages) yield* live(message, context)
          },
        },
        { http2 },
      )
      for (const { name, client } of liveClients(url, http2)) {
        for (const [what, behaviour] of Object.entries(afterwards)) {
          // Connect speaks bidi over HTTP/2 only.
          for (const kind of http2 ? (['server stream', 'bidi'] as const) : (['server stream'] as const)) {
            await t.test(`${name}, ${kind}, whose handler ${what}`, async (t) => {
              advance(600)
              after = behaviour
              sent = gate()
              reason = undefined
              const request = { topics: 1000 }
              const half = gate()
              const messages = async function* () {
                yield request
                // The client does not half-close.
                await half.passed
              }
              const call =
                kind === 'bidi' ? client.subscribe(messages(), { headers }) : client.watch(request, { headers })
              const received: string[] = []
              const outcome = (async () => {
                for await (const { text } of call) received.push(text)
              })().then(
                () => 'no error',
                (error) => ofConnectError(error),
              )
              await sent.passed
              advance(59.5)
              spend('stream_rent', 120)
              advance(0.5)
              t.same(await outcome, rejectionOf('stream_rent', 500))
              t.same(received, three)
              t.same(ofConnectError(reason), rejectionOf('stream_rent', 500), 'the signal says the same')
              // Up to then the client is given time to take it.
              await until(() => clock.scheduled === 0)
              half.open()
            })
          }
        }
      }
      await new Promise(setImmediate)
      t.same(said, [], 'no second response, and nothing unhandled')
    },
  )
}
