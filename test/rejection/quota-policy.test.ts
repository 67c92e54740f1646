import fc from 'fast-check'
import t from 'tap'
import { availableUnits, bindingPolicy, effectiveWindowSeconds } from '../../src/rejection/quota-policy.ts'
import { exceeded, hour, minute, quotaPolicies } from '../support/quota-policies.ts'

t.test('which binds', async (t) => {
  const name = (...policies: Parameters<typeof bindingPolicy>[0]) => bindingPolicy(policies)?.name
  const day = { ...hour, name: 'day' }

  t.equal(name(), undefined)
  t.equal(name(exceeded(minute, 1), hour), 'caller-60', 'what was exceeded, whatever the others have left')
  t.equal(name(exceeded(minute, 1000), exceeded(hour, 12_000)), 'caller-3600', 'the longest delay')
  t.equal(name(exceeded(hour, 12_000), exceeded(minute, 1000)), 'caller-3600', 'in any order')
  t.equal(name(exceeded(minute, 1998), exceeded(hour, 1999)), 'caller-3600', 'within one second too')
  t.equal(name(exceeded(hour, 12_000), exceeded(minute, null)), 'caller-60', 'none to be said is longest')
  t.equal(name(exceeded(hour, null), exceeded(day, null)), 'caller-3600', 'of equals the first')

  t.equal(name(minute, hour), 'caller-3600', 'else the least left')
  t.equal(name(hour, minute), 'caller-3600', 'in any order')
  t.equal(name({ ...minute, remaining: 5 }, { ...hour, remaining: 5 }), 'caller-3600', 'then the longest reset')
  t.equal(name(hour, { ...day, resetMs: null }), 'day', 'none to be said is longest')
  t.equal(name({ ...minute, remaining: 60 }, { ...hour, count: 60, remaining: 60 }), 'caller-3600', 'full ones too')
  t.equal(name(hour, day), 'caller-3600', 'of equals the first')
})

t.test('what is available is never negative and never above the count', async (t) => {
  t.equal(availableUnits(minute), 19)
  t.equal(availableUnits({ ...minute, remaining: -1 }), 0)
  t.equal(availableUnits({ ...minute, remaining: 61 }), 60)
  t.equal(availableUnits(exceeded(minute, 1)), 0, 'nothing of what was exceeded')
})

t.test('effective window', async (t) => {
  t.equal(effectiveWindowSeconds(exceeded(minute, 11_001)), 12, 'exceeded: rounded up')
  t.equal(effectiveWindowSeconds(exceeded(minute, 0)), 1, 'exceeded: never 0')
  t.equal(effectiveWindowSeconds(exceeded(minute, null)), undefined, 'exceeded, no telling until when')
  t.equal(effectiveWindowSeconds({ ...hour, resetMs: 11_001 }), 12, 'nothing left: until more is there')
  t.equal(effectiveWindowSeconds({ ...hour, remaining: 50 }), 1800, 'much left: an even pace')
  t.equal(effectiveWindowSeconds({ ...minute, count: 7, remaining: 3 }), 26, 'rounded up')
  t.equal(effectiveWindowSeconds({ ...hour, remaining: 1, resetMs: 3_000_000 }), 3000, 'whichever is longer')
  t.equal(effectiveWindowSeconds({ ...hour, remaining: 100, resetMs: 0 }), 3600, 'all left: the window')
  t.equal(effectiveWindowSeconds({ ...hour, resetMs: null }), undefined)

  const epoch = { name: 'epoch', count: 5, windowSeconds: undefined, remaining: 4, resetMs: 90_500 }
  t.equal(effectiveWindowSeconds(epoch), 91, 'without a window: until the reset')
  t.equal(effectiveWindowSeconds({ ...epoch, resetMs: null }), undefined)
  t.equal(effectiveWindowSeconds({ ...epoch, remaining: 5 }), undefined)
})

t.test('a client that takes what is available for an even rate takes no more than the limit gives', async () => {
  fc.assert(
    fc.property(quotaPolicies, (policies) =>
      policies.every((policy) => {
        const seconds = effectiveWindowSeconds(policy)
        if (seconds === undefined || policy.windowSeconds === undefined) return true
        return availableUnits(policy) * policy.windowSeconds <= policy.count * seconds
      }),
    ),
  )
})
