import t from 'tap'
import { apiKey, limiterOf, limitsOf } from '../support/limiter-of.ts'

const caller = apiKey('one caller')
const full = [{ bound: 'caller', limit: limitsOf('7/60')[0], units: 7, fullInMs: 0 }]

// Callers of plain JavaScript are not held to the types.
type Untyped = Record<'spend' | 'retryDelay', (caller: unknown, category: unknown, cost: unknown) => unknown> & {
  remaining(caller: unknown, category: unknown): unknown
}

t.test('case 12: a cost that is no whole number from 0 to 2^53 − 1 throws, and charges nothing', async (t) => {
  const { limiter } = limiterOf('7/60')
  const untyped = limiter as unknown as Untyped
  for (const cost of [
    -1,
    -0.5,
    0.5,
    1.5,
    Number.NaN,
    Infinity,
    -Infinity,
    2 ** 53,
    '1',
    1n,
    null,
    undefined,
    [1],
    {},
    true,
  ]) {
    for (const call of ['spend', 'retryDelay'] as const) {
      const shown = typeof cost === 'bigint' ? `${cost}n` : JSON.stringify(cost)
      t.throws(() => untyped[call](caller, 'work', cost), /cost/, `${call} of ${typeof cost} ${shown ?? cost}`)
      t.same(limiter.remaining(caller, 'work'), full)
    }
  }
  t.equal(limiter.stats().forgotten, 0)
  t.equal(limiter.spend(caller, 'work', Number.MAX_SAFE_INTEGER).admitted, true, '2^53 − 1 is allowed')
})

t.test('case 12: a wrong cost throws also where nothing is limited', async (t) => {
  const { limiter } = limiterOf([])
  t.throws(() => limiter.spend(caller, 'work', 1.5))
  t.throws(() => limiter.spend(caller, 'work', -1))
})

t.test('case 12: an undeclared category throws, and charges nothing', async (t) => {
  const { limiter } = limiterOf('7/60')
  const untyped = limiter as unknown as Untyped
  for (const category of [
    'wrok',
    'Work',
    'work ',
    '',
    '__proto__',
    'constructor',
    'toString',
    undefined,
    null,
    0,
    ['work'],
  ]) {
    const shown = JSON.stringify(category) ?? 'undefined'
    t.throws(() => untyped.spend(caller, category, 1), /categor/, `spend in ${shown}`)
    t.throws(() => untyped.spend(caller, category, 0), /categor/, `spend of 0 in ${shown}`)
    t.throws(() => untyped.retryDelay(caller, category, 1), /categor/, `retryDelay in ${shown}`)
    t.throws(() => untyped.remaining(caller, category), /categor/, `remaining in ${shown}`)
  }
  t.same(limiter.remaining(caller, 'work'), full)
})

t.test('case 12: no error names the caller', async (t) => {
  const { limiter } = limiterOf('7/60')
  const secret = apiKey('kept-to-itself')
  for (const call of [() => limiter.spend(secret, 'work', -1), () => limiter.spend(secret, 'wrok', 1)]) {
    let message = ''
    try {
      call()
    } catch (error) {
      message = String(error)
    }
    t.not(message, '')
    t.notMatch(message, /kept-to-itself/)
  }
})
