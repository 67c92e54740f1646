import assert from 'node:assert/strict'
import fc from 'fast-check'
import { parseList } from 'structured-headers'
import t from 'tap'
import { rateLimitFields } from '../../src/rejection/rate-limit-fields.ts'
import { retryAfterSeconds } from '../../src/rejection/retry-after.ts'
import { exceeded, hour, minute, quotaPolicies } from '../support/quota-policies.ts'

t.test('case 1: the fields describe the hourly limit with remaining 0, and agree with Retry-After', async (t) => {
  const policies = [minute, exceeded(hour, 12_000)]
  t.same(rateLimitFields(policies, 'draft-11'), {
    'ratelimit-policy': '"caller-60";q=60;w=60, "caller-3600";q=100;w=3600',
    ratelimit: '"caller-3600";r=0;t=12',
  })
  t.same(rateLimitFields(policies, 'legacy'), {
    'ratelimit-limit': '100',
    'ratelimit-remaining': '0',
    'ratelimit-reset': '12',
  })
})

t.test('case 2: 5/1, the sixth at 0 s; 1/2, the second at 0 s', async (t) => {
  const caller = { name: 'caller', remaining: 0 }
  const five = { ...caller, count: 5, windowSeconds: 1, resetMs: 200, retryDelayMs: 200 }
  t.equal(rateLimitFields([five], 'draft-11').ratelimit, '"caller";r=0;t=1')
  const one = { ...caller, count: 1, windowSeconds: 2, resetMs: 2000, retryDelayMs: 2000 }
  t.equal(rateLimitFields([one], 'draft-11').ratelimit, '"caller";r=0;t=2', 'exactly 2')
  const later = { ...one, resetMs: 2001, retryDelayMs: 2001 }
  t.equal(rateLimitFields([later], 'draft-11').ratelimit, '"caller";r=0;t=3')
  t.equal(rateLimitFields([later], 'legacy')['ratelimit-reset'], '3')
})

t.test('what is admitted: the least left', async (t) => {
  t.equal(rateLimitFields([minute, { ...hour, remaining: 40 }], 'draft-11').ratelimit, '"caller-60";r=19;t=19')
  t.equal(rateLimitFields([minute, hour], 'draft-11').ratelimit, '"caller-3600";r=0;t=12')
})

t.test('limits without a window', async (t) => {
  const epoch = { name: 'epoch', count: 7, windowSeconds: undefined, remaining: 0, resetMs: null, retryDelayMs: null }
  const blocked = { ...epoch, name: 'blocked', count: 0 }
  const open = { ...epoch, name: 'open', count: 256, retryDelayMs: 1000, unit: 'concurrent-requests' as const }
  t.same(rateLimitFields([epoch, blocked, open], 'draft-11'), {
    'ratelimit-policy': '"epoch";q=7, "blocked";q=0, "open";q=256;qu="concurrent-requests"',
    ratelimit: '"epoch";r=0',
  })
  t.same(rateLimitFields([blocked], 'legacy'), { 'ratelimit-limit': '0', 'ratelimit-remaining': '0' })
})

t.test('no policy, no fields: a list of policies may not be empty', async (t) => {
  t.same(rateLimitFields([], 'draft-11'), {})
  t.same(rateLimitFields([], 'legacy'), {})
})

const MAX_INTEGER = 999_999_999_999_999

function isInteger(value: unknown, min: number): boolean {
  return Number.isInteger(value) && Number(value) >= min && Number(value) <= MAX_INTEGER
}

t.test('every field reads back, with Strings for names and Integers in range', async () => {
  fc.assert(
    fc.property(quotaPolicies, (policies) => {
      const fields = rateLimitFields(policies, 'draft-11')
      const named = parseList(fields['ratelimit-policy']!)
      assert.deepEqual(
        named.map(([name]) => name),
        policies.map(({ name }) => name),
      )
      named.forEach(([, parameters], index) => {
        const { count, windowSeconds, unit } = policies[index]!
        assert.deepEqual(Object.fromEntries(parameters), {
          q: count,
          ...(unit && { qu: unit }),
          ...(windowSeconds && { w: windowSeconds }),
        })
      })

      const limits = parseList(fields.ratelimit!)
      assert.equal(limits.length, 1)
      const [name, parameters] = limits[0]!
      const binding = policies.find((policy) => policy.name === name)!
      assert.ok(isInteger(parameters.get('r'), 0) && Number(parameters.get('r')) <= binding.count, fields.ratelimit!)
      assert.ok(!parameters.has('t') || isInteger(parameters.get('t'), 1), fields.ratelimit!)

      const legacy = rateLimitFields(policies, 'legacy')
      assert.equal(legacy['ratelimit-limit'], String(binding.count))
      assert.equal(legacy['ratelimit-remaining'], String(parameters.get('r')))
      assert.equal(legacy['ratelimit-reset'], parameters.has('t') ? String(parameters.get('t')) : undefined)
    }),
  )
})

t.test('on a refusal nothing is left for as long as Retry-After says', async () => {
  fc.assert(
    fc.property(quotaPolicies, (policies) => {
      const delays = policies.map(({ retryDelayMs }) => retryDelayMs).filter((delay) => delay !== undefined)
      fc.pre(delays.length > 0)
      const [, parameters] = parseList(rateLimitFields(policies, 'draft-11').ratelimit!)[0]!
      assert.equal(parameters.get('r'), 0)
      const longest = delays.includes(null) ? undefined : retryAfterSeconds(Math.max(...delays.map(Number)))
      assert.equal(parameters.get('t'), longest)
    }),
  )
})
