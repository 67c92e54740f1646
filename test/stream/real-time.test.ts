import { performance } from 'node:perf_hooks'
import t from 'tap'
import { allowanceOf, systemClock } from '../../src/index.ts'
import { headers, liveApp, liveClients } from '../support/live-app.ts'
import { ofConnectError } from '../support/rejection.ts'

t.test('end to end in real time: a stream pays each second, on the grid, until it cannot', async (t) => {
  const { url, limiter } = await liveApp(
    t,
    {
      async *watch({ topics }, context) {
        await allowanceOf(context).openStream(topics)
        yield { text: 'open' }
        await new Promise(() => {})
      },
    },
    {
      http2: true,
      // Three periods of 2 units; what is earned back by then is less than a unit.
      limits: { stream_rent: '6/3600' },
      allowance: { clock: systemClock, streams: { periodSeconds: 1 } },
    },
  )
  await Promise.all(
    liveClients(url, true).map(async ({ name, client }) => {
      const caller = { type: 'api_key', name } as const
      const received: string[] = []
      const before = performance.now()
      let error: unknown
      try {
        for await (const { text } of client.watch({ topics: 1000 }, { headers: { ...headers, 'x-caller': name } })) {
          received.push(text)
          t.equal(limiter.remaining(caller, 'stream_rent')[0]!.units, 4, name)
        }
      } catch (thrown) {
        error = thrown
      }
      const took = performance.now() - before
      t.same(received, ['open'])
      t.match(ofConnectError(error), {
        code: 'resource_exhausted',
        details: [{ metadata: { category: 'stream_rent' } }, {}],
      })
      t.ok(took >= 3000 && took < 3900, `${name}: after ${Math.round(took)} ms`)
    }),
  )
})
