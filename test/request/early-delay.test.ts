import t from 'tap'
import { everyone, plainApp } from '../support/plain-app.ts'

for (const kind of ['earned_back', 'sliding_window', 'sliding_log'] as const) {
  t.test(
    `a bound refuses with a delay while others wait for their identity, as if they were admitted now: ${kind}`,
    async (t) => {
      let identified = () => {}
      const known = new Promise<void>((resolve) => {
        identified = resolve
      })
      const { app } = await plainApp(t, {
        allowance: {
          bounds: [{ ...everyone('2/60'), limits: [{ kind, count: 2, windowSeconds: 60 }] }],
          identify: async () => {
            await known
            return { type: 'api_key', name: 'a' }
          },
        },
        routes: (app) => void app.get('/x', { config: { allowance: {} } }, async () => 'ok'),
      })
      const waiting = [app.inject('/x'), app.inject('/x')]
      await new Promise(setImmediate)
      const refused = await app.inject('/x')
      t.equal(refused.statusCode, 429)
      const expected = { earned_back: '30', sliding_window: '90', sliding_log: '60' }[kind]
      t.equal(refused.headers['retry-after'], expected)
      t.match(refused.headers.ratelimit, new RegExp(`r=0;t=${expected}$`))
      identified()
      t.same(
        (await Promise.all(waiting)).map(({ statusCode }) => statusCode),
        [200, 200],
      )
    },
  )
}
