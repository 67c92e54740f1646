import * as fc from 'fast-check'
import t from 'tap'
import { type Caller, normalizeCaller } from '../../src/caller/caller.ts'
import { callerKey } from '../../src/caller/key.ts'

const keyOf = (caller: Caller) => callerKey(normalizeCaller(caller))

t.test('case 5: RATE-001: callers that only look alike have different keys', async (t) => {
  const callers: Caller[] = [
    { type: 'api_key', name: '203.0.113.9' },
    { type: 'ip', address: '203.0.113.9' },
    { type: 'jwt', iss: 'a', sub: 'b:c' },
    { type: 'jwt', iss: 'a:b', sub: 'c' },
    { type: 'api_key', name: '__proto__' },
    { type: 'api_key', name: 'constructor' },
    { type: 'api_key', name: 'unix' },
    { type: 'ip', address: 'unix' },
    { type: 'jwt', iss: '', sub: '' },
    { type: 'jwt', iss: '1:a', sub: '' },
    { type: 'jwt', iss: '', sub: '1:a' },
    { type: 'jwt', iss: '3:', sub: 'a' },
    { type: 'api_key', name: '' },
    { type: 'api_key', name: '\ud800' },
    { type: 'api_key', name: '\ud801' },
    { type: 'api_key', name: '\ufffd' },
  ]
  t.equal(new Set(callers.map(keyOf)).size, callers.length)
})

t.test('case 5: RATE-001: no iss and an empty iss are one caller', async (t) => {
  t.equal(keyOf({ type: 'jwt', sub: 'u' }), keyOf({ type: 'jwt', iss: '', sub: 'u' }))
  t.equal(keyOf({ type: 'jwt', iss: undefined, sub: 'u' }), keyOf({ type: 'jwt', iss: '', sub: 'u' }))
  t.not(keyOf({ type: 'jwt', sub: 'u' }), keyOf({ type: 'jwt', iss: 'i', sub: 'u' }))
})

t.test('RATE-003: a /64 and an IPv4 address in any spelling have one key', async (t) => {
  t.equal(keyOf({ type: 'ip', address: '2001:db8::1' }), keyOf({ type: 'ip', address: '2001:DB8:0:0:ffff::2' }))
  t.not(keyOf({ type: 'ip', address: '2001:db8::1' }), keyOf({ type: 'ip', address: '2001:db8:0:1::1' }))
  t.equal(keyOf({ type: 'ip', address: '::ffff:c633:6407' }), keyOf({ type: 'ip', address: '198.51.100.7' }))
})

t.test('RATE-001: equal keys mean equal callers', async () => {
  // Few characters, the ones that a joined key would trip over, so that collisions would be found.
  const part = fc.oneof(
    fc.string({ unit: fc.constantFrom('a', ':', '0', '1', '2', 'k', 'j', '\ud800', '\udc00'), maxLength: 6 }),
    fc.string({ unit: 'binary', maxLength: 12 }),
  )
  const callers: fc.Arbitrary<Caller> = fc.oneof(
    fc.record({ type: fc.constant('api_key' as const), name: part }),
    fc.record({ type: fc.constant('jwt' as const), iss: part, sub: part }),
    fc.record({ type: fc.constant('ip' as const), address: part }),
  )
  const fields = (caller: Caller) => JSON.stringify(Object.entries(caller).sort())
  // Key by key through one table: each pair of callers ever made is compared.
  const seen = new Map<string, string>()
  fc.assert(
    fc.property(fc.array(callers, { minLength: 50, maxLength: 50 }), (list) => {
      for (const caller of list) {
        const key = callerKey(caller)
        const known = seen.get(key)
        if (known !== undefined && known !== fields(caller)) return false
        seen.set(key, fields(caller))
      }
      return true
    }),
    { numRuns: 400 },
  )
})

t.test('RATE-001: cutting one text into iss and sub elsewhere makes another caller', async () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('1', '2', ':', 'a'), minLength: 1, maxLength: 8 }), (text) => {
      const keys = Array.from({ length: text.length + 1 }, (_, cut) =>
        callerKey({ type: 'jwt', iss: text.slice(0, cut), sub: text.slice(cut) }),
      )
      return new Set(keys).size === keys.length
    }),
  )
})

t.test('RATE-001: nobody can forge a key by writing parts of it into iss and sub', async () => {
  const part = fc.string({ unit: fc.constantFrom('1', '2', '3', ':', 'a'), maxLength: 4 })
  fc.assert(
    fc.property(part, part, (iss, sub) => {
      const key = callerKey({ type: 'jwt', iss, sub })
      for (let from = 0; from <= key.length; from++) {
        for (let end = from; end <= key.length; end++) {
          const forged = { type: 'jwt', iss: key.slice(1, from), sub: key.slice(end) } as const
          if (callerKey(forged) === key && (forged.iss !== iss || forged.sub !== sub)) return false
        }
      }
      return true
    }),
    { numRuns: 500 },
  )
})
