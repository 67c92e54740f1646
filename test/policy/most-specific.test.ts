import fc from 'fast-check'
import t from 'tap'
import type { Caller } from '../../src/caller/caller.ts'
import type { Limit } from '../../src/limit/limit.ts'
import { limitsFor, policyOf, table } from './policy-of.ts'

// RATE-025 once more, read off the options as written: callers are compared by hand, nothing is planned
const people: readonly { readonly who: string; readonly caller: Caller }[] = [
  { who: 'key a', caller: { type: 'api_key', name: 'a' } },
  { who: 'key __proto__', caller: { type: 'api_key', name: '__proto__' } },
  { who: 'key like an address', caller: { type: 'api_key', name: '203.0.113.9' } },
  { who: 'jwt without iss', caller: { type: 'jwt', sub: 'a' } },
  { who: 'jwt without iss', caller: { type: 'jwt', iss: '', sub: 'a' } },
  { who: 'jwt a:b c', caller: { type: 'jwt', iss: 'a:b', sub: 'c' } },
  { who: 'jwt a b:c', caller: { type: 'jwt', iss: 'a', sub: 'b:c' } },
  { who: '203.0.113.9', caller: { type: 'ip', address: '203.0.113.9' } },
  { who: '203.0.113.9', caller: { type: 'ip', address: '::ffff:cb00:7109' } },
  { who: 'first /64', caller: { type: 'ip', address: '2001:db8::1' } },
  { who: 'first /64', caller: { type: 'ip', address: '2001:DB8:0:0:ffff::' } },
  { who: 'second /64', caller: { type: 'ip', address: '2001:db8:0:1::1' } },
  { who: 'unix', caller: { type: 'ip', address: 'unix' } },
]
type Categories = Record<string, { [list in 'api_key' | 'jwt' | 'ip' | 'default']?: Limit[] }>
const categoryNames = ['request', 'publish', 'stream_rent', 'own', '__proto__', 'constructor']

const limitList = fc.uniqueArray(
  fc.record({ count: fc.integer({ min: 1, max: 1e9 }), windowSeconds: fc.integer({ min: 1, max: 8_640_000 }) }),
  { maxLength: 3, selector: (limit) => limit.windowSeconds },
)
const lists = { api_key: limitList, jwt: limitList, ip: limitList, default: limitList }
const builtIn = fc.record(lists, { requiredKeys: [] })
const own = fc.record(lists, { requiredKeys: ['default'] })
// entries and not an object: fromEntries makes `__proto__` a key like any other
const categoryOptions = fc
  .tuple(
    fc
      .subarray(['request', 'publish', 'stream_rent'])
      .chain((names) => fc.tuple(...names.map((name) => fc.tuple(fc.constant(name), builtIn)))),
    fc.tuple(...['own', '__proto__', 'constructor'].map((name) => fc.tuple(fc.constant(name), own))),
  )
  .map(([some, all]) => Object.fromEntries([...some, ...all]) as Categories)
const overrides = fc.uniqueArray(
  fc.record({
    person: fc.constantFrom(...people),
    categories: fc
      .array(fc.tuple(fc.constantFrom(...categoryNames), limitList), { minLength: 1, maxLength: 4 })
      .map((entries) => Object.fromEntries(entries)),
  }),
  { selector: ({ person }) => person.who },
)

function naive(
  categories: Categories,
  overrides: readonly { person: { who: string }; categories: Record<string, Limit[]> }[],
  person: { who: string; caller: Caller },
  category: string,
): Limit[] | undefined {
  for (const override of overrides) {
    if (override.person.who === person.who && Object.hasOwn(override.categories, category)) {
      return override.categories[category]
    }
  }
  const set = Object.hasOwn(categories, category) ? categories[category]! : {}
  if (Object.hasOwn(set, person.caller.type)) return set[person.caller.type]
  if (Object.hasOwn(set, 'default')) return set.default
  return table[category]
}

t.test('RATE-025: agrees with a naive reading of the options (property)', async (t) => {
  let overridden = 0
  fc.assert(
    fc.property(categoryOptions, overrides, (categories, list) => {
      const policy = policyOf({
        categories,
        overrides: list.map(({ person, categories }) => ({ caller: person.caller, categories })),
      })
      for (const person of people) {
        for (const category of policy.categories) {
          const expected = naive(categories, list, person, category)
          if (JSON.stringify(limitsFor(policy, person.caller, category)) !== JSON.stringify(expected)) {
            throw new Error(`${person.who} in ${category}: expected ${JSON.stringify(expected)}`)
          }
        }
      }
      overridden += list.length
    }),
    { numRuns: 300 },
  )
  t.ok(overridden > 300, 'overrides were among the options')
})
