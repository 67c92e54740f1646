import t from 'tap'
import { createLimiter, manualClock } from '../../src/index.ts'
import { address, apiKey, jwt, limitsOf } from '../support/limiter-of.ts'

t.test('RATE-025: the override for the caller, else its auth type, else the default, else the table', async (t) => {
  const bot = apiKey('bot')
  const limiter = createLimiter({
    rateLimits: {
      maxMemoryMib: 1,
      categories: {
        work: { default: limitsOf('10/60'), api_key: limitsOf('20/60'), jwt: [] },
        publish: { ip: limitsOf('5/60') },
      },
      overrides: [
        { caller: bot, categories: { work: limitsOf('30/60, 90/3600') } },
        { caller: jwt('issuer', 'capped'), categories: { work: limitsOf('1/60') } },
        { caller: apiKey('free'), categories: { publish: [] } },
      ],
    },
    clock: manualClock(0n),
  })
  const found = (caller: Parameters<typeof limiter.remaining>[0], category: string) =>
    limiter
      .remaining(caller, category)
      .map(({ limit }) => 'windowSeconds' in limit && `${limit.count}/${limit.windowSeconds}`)

  t.same(found(bot, 'work'), ['30/60', '90/3600'], 'an override')
  t.same(found(apiKey('Bot'), 'work'), ['20/60'], 'the auth type')
  t.same(found(address('203.0.113.9'), 'work'), ['10/60'], 'the default')
  t.same(found(jwt('issuer', 'user'), 'work'), [], 'an empty list of the auth type')
  t.same(found(jwt('issuer', 'capped'), 'work'), ['1/60'], 'an override over an empty list')
  t.same(
    found(bot, 'publish'),
    ['1000/60', '20000/3600'],
    'an override for another category changes nothing: the table',
  )
  t.same(found(address('203.0.113.9'), 'publish'), ['5/60'])
  t.same(found(apiKey('free'), 'publish'), [], 'an empty override')
  t.same(found(apiKey('free'), 'work'), ['20/60'])

  for (let i = 0; i < 1000; i++) t.equal(limiter.spend(jwt('issuer', 'user'), 'work', 2 ** 53 - 1).admitted, true)
  t.equal(limiter.retryDelay(jwt('issuer', 'user'), 'work', 1), 0, 'an empty list admits every spend')
})
