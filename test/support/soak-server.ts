// A server in a process of its own whose streams come and go: `fork` it with `--expose-gc`. Tells its port, and for each
// message what it still holds. Callers `poor …` are denied at some time; identify takes a turn or two of the event loop.
import { allowanceOf, type Clock, systemClock } from '../../src/index.ts'
import { apiKey } from './limiter-of.ts'
import { liveApp } from './live-app.ts'

export interface Held {
  /** Bytes in use after garbage collection. */
  readonly heap: number
  /** Runs that wait on the clock of the plugin. */
  readonly scheduled: number
  /** What keeps the process alive, by kind. */
  readonly resources: readonly string[]
  /** Streams opened so far. */
  readonly opened: number
  readonly unhandled: readonly string[]
}

let scheduled = 0
let opened = 0
const unhandled: string[] = []
process.on('unhandledRejection', (error) => unhandled.push(String(error)))

const clock: Clock = {
  ...systemClock,
  schedule(at, run) {
    scheduled++
    let waits = true
    const done = () => {
      if (waits) scheduled--
      waits = false
    }
    const cancel = systemClock.schedule(at, () => {
      done()
      run()
    })
    return () => {
      done()
      cancel()
    }
  },
}

const http2 = process.argv[2] === '2'
const { port } = await liveApp(
  { teardown() {} },
  {
    async *watch({ topics }, context) {
      const stream = await allowanceOf(context).openStream(topics)
      opened++
      yield { text: 'open' }
      yield { text: await stream.catchUp(() => 'read') }
      await new Promise((resolve) => stream.signal.addEventListener('abort', resolve))
    },
    async *subscribe(messages, context) {
      const stream = await allowanceOf(context).openStream(0)
      opened++
      for await (const { topics } of messages) {
        await stream.update(topics, { registers: true })
        yield { text: 'applied' }
      }
    },
  },
  {
    http2,
    limits: { stream_rent: '100000000/1', request: '100000000/1' },
    allowance: {
      clock,
      streams: { periodSeconds: 1 },
      async identify({ headers }) {
        const turns = Math.random() * 3
        for (let i = 0; i < turns; i++) await new Promise(setImmediate)
        return apiKey(String(headers['x-caller']))
      },
    },
  },
)

process.on('message', async () => {
  for (let i = 0; i < 3; i++) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    globalThis.gc?.()
  }
  const resources = process.getActiveResourcesInfo()
  process.send?.({ heap: process.memoryUsage().heapUsed, scheduled, resources, opened, unhandled } satisfies Held)
})
process.on('disconnect', () => process.exit())
process.send?.(port)
