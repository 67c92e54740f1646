import t from 'tap'
import { type Caller, normalizeCaller } from '../../src/caller/caller.ts'
import { limitsFor, per, policyOf, table } from './policy-of.ts'

const someone: readonly Caller[] = [
  { type: 'api_key', name: 'indexer' },
  { type: 'jwt', iss: 'https://issuer.example', sub: 'u' },
  { type: 'ip', address: '203.0.113.9' },
]

t.test('RATE-025: without options the default limits table applies to everybody', async (t) => {
  const policy = policyOf()
  t.strictSame(policy.categories, Object.keys(table))
  for (const caller of someone) {
    for (const [category, limits] of Object.entries(table)) t.strictSame(limitsFor(policy, caller, category), limits)
  }
})

t.test('RATE-025: each rung of the ladder, and an empty list on it, is exactly what applies', async (t) => {
  const [apiKey, jwt, ip] = someone as [Caller, Caller, Caller]
  const policy = policyOf({
    categories: {
      publish: { default: [per(1, 1)], jwt: [per(2, 1)], ip: [] },
      push: { api_key: [per(3, 1)] },
      thumbnail: { default: [per(4, 1)] },
      upload: { default: [] },
    },
    overrides: [
      { caller: jwt, categories: { publish: [per(5, 1)], upload: [per(6, 1)] } },
      { caller: apiKey, categories: { thumbnail: [] } },
    ],
  })
  t.strictSame(limitsFor(policy, apiKey, 'publish'), [per(1, 1)], 'default of the category')
  t.strictSame(limitsFor(policy, jwt, 'publish'), [per(5, 1)], 'override, though the auth type has limits')
  t.strictSame(limitsFor(policy, { type: 'jwt', sub: 'u' }, 'publish'), [per(2, 1)], 'auth type')
  t.strictSame(limitsFor(policy, ip, 'publish'), [], 'empty list of the auth type')
  t.strictSame(limitsFor(policy, apiKey, 'push'), [per(3, 1)])
  t.strictSame(limitsFor(policy, ip, 'push'), table.push, 'no default: the table')
  t.strictSame(limitsFor(policy, jwt, 'upload'), [per(6, 1)])
  t.strictSame(limitsFor(policy, ip, 'upload'), [], 'empty default')
  t.strictSame(limitsFor(policy, apiKey, 'thumbnail'), [], 'empty list of the override')
  t.strictSame(limitsFor(policy, jwt, 'thumbnail'), [per(4, 1)], 'override that does not name the category')
  t.strictSame(limitsFor(policy, jwt, 'request'), table.request)
})

t.test('RATE-025: an override for an address applies to the whole /64 that it belongs to', async (t) => {
  const policy = policyOf({
    overrides: [{ caller: { type: 'ip', address: '2001:db8:0:1::7' }, categories: { request: [] } }],
  })
  t.strictSame(limitsFor(policy, { type: 'ip', address: '2001:db8:0:1:ffff::' }, 'request'), [])
  t.strictSame(limitsFor(policy, { type: 'ip', address: '2001:db8:0:2::7' }, 'request'), table.request)
})

t.test('RATE-012: enabled is passed on', async (t) => {
  t.equal(policyOf().enabled, true)
  t.equal(policyOf({ enabled: false }).enabled, false)
})

t.test('memory and trusted proxies are passed on', async (t) => {
  const policy = policyOf({ maxMemoryMib: 7, trustedProxies: ['unix'] })
  t.equal(policy.maxMemoryMib, 7)
  t.equal(policy.trustedProxies.unix, true)
  t.equal(policyOf().trustedProxies.isEmpty, true)
})

t.test('ids: the seven of the spec first, then others in the order written; -1 for what nobody declared', async (t) => {
  const policy = policyOf({
    categories: {
      zebra: { default: [] },
      upload: { default: [] },
      ['__proto__']: { default: [] },
      ape: { default: [] },
    },
  })
  t.strictSame(policy.categories, [...Object.keys(table), 'zebra', '__proto__', 'ape'])
  for (const [id, name] of policy.categories.entries()) t.equal(policy.categoryId(name), id)
  for (const name of ['', 'constructor', 'Publish', 'publish ', 'toString']) t.equal(policy.categoryId(name), -1)
})

t.test('limits are planned: the same frozen table for every caller with the same limits', async (t) => {
  const policy = policyOf({ overrides: [{ caller: someone[0]!, categories: { publish: [] } }] })
  for (const written of someone) {
    const caller = normalizeCaller(written)
    const limits = policy.limitsFor(caller)
    t.equal(limits, policy.limitsFor({ ...caller }))
    t.ok(Object.isFrozen(limits) && limits.every((list) => Object.isFrozen(list) && list.every(Object.isFrozen)))
  }
  const other = normalizeCaller({ type: 'api_key', name: 'a' })
  const another = normalizeCaller({ type: 'api_key', name: 'b' })
  t.equal(policy.limitsFor(other), policy.limitsFor(another))
})
