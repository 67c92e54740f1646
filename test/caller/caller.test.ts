import * as fc from 'fast-check'
import t from 'tap'
import { authTypes, normalizeCaller } from '../../src/caller/caller.ts'
import { anyIPv4Value, anyIPv6Value, ipv4, ipv6, mapped, notAddresses } from './spellings.ts'

t.test('RATE-001: the auth types', async (t) => {
  t.strictSame(authTypes, ['api_key', 'jwt', 'ip'])
})

t.test('RATE-001: a normalized caller has exactly the fields of its type', async (t) => {
  t.strictSame(normalizeCaller({ type: 'api_key', name: 'indexer' }), { type: 'api_key', name: 'indexer' })
  t.strictSame(normalizeCaller({ type: 'jwt', iss: 'i', sub: 's' }), { type: 'jwt', iss: 'i', sub: 's' })
  t.strictSame(normalizeCaller({ type: 'jwt', sub: 's' }), { type: 'jwt', iss: '', sub: 's' })
  t.strictSame(normalizeCaller({ type: 'jwt', iss: undefined, sub: 's' }), { type: 'jwt', iss: '', sub: 's' })
  t.strictSame(normalizeCaller({ type: 'ip', address: '2001:db8::7' }), { type: 'ip', address: '2001:db8::' })
  t.strictSame(normalizeCaller({ type: 'ip', address: '::ffff:1.2.3.4' }), { type: 'ip', address: '1.2.3.4' })
  t.strictSame(normalizeCaller({ type: 'ip', address: 'fe80::1%eth0' }), { type: 'ip', address: 'fe80::' })
  t.strictSame(normalizeCaller({ type: 'ip', address: 'unix' }), { type: 'ip', address: 'unix' })
})

t.test('every string is a name, an issuer or a subject', async (t) => {
  for (const text of ['', '__proto__', 'constructor', 'toString', '\ud800', '\0', ' ']) {
    t.strictSame(normalizeCaller({ type: 'api_key', name: text }), { type: 'api_key', name: text })
    t.strictSame(normalizeCaller({ type: 'jwt', iss: text, sub: text }), { type: 'jwt', iss: text, sub: text })
  }
})

t.test('the value is copied: new, frozen, without other fields', async (t) => {
  const value = { type: 'api_key', name: 'n', secret: 'key', sub: 's', __proto__: { address: '1.2.3.4' } }
  const caller = normalizeCaller(value)
  t.not(caller, value)
  for (const each of [value, { type: 'jwt', sub: 's' }, { type: 'ip', address: '1.2.3.4' }]) {
    t.ok(Object.isFrozen(normalizeCaller(each)), each.type)
  }
  t.equal(Object.getPrototypeOf(caller), Object.prototype)
  t.strictSame(Reflect.ownKeys(caller), ['type', 'name'])
  t.strictSame(Reflect.ownKeys(normalizeCaller({ type: 'ip', address: '1.2.3.4', name: 'n' })), ['type', 'address'])
  t.notOk(Object.isFrozen(value), "the caller's object is left alone")

  const bare = Object.assign(Object.create(null), { type: 'jwt', sub: 's' })
  t.strictSame(normalizeCaller(bare), { type: 'jwt', iss: '', sub: 's' })
  const parsed = JSON.parse('{"type":"api_key","name":"n","__proto__":{"name":"other"}}')
  t.strictSame(normalizeCaller(parsed), { type: 'api_key', name: 'n' })
})

t.test('only own properties count, each read once', async (t) => {
  t.throws(() => normalizeCaller(Object.create({ type: 'api_key', name: 'n' })), TypeError)
  t.throws(() => normalizeCaller({ type: 'jwt', __proto__: { sub: 's' } }), /^caller\.sub: /)
  t.strictSame(normalizeCaller({ type: 'jwt', sub: 's', __proto__: { iss: 'i' } }), { type: 'jwt', iss: '', sub: 's' })

  let reads = 0
  const fickle = {
    type: 'api_key',
    get name() {
      return reads++ === 0 ? 'n' : 7
    },
  }
  t.strictSame(normalizeCaller(fickle), { type: 'api_key', name: 'n' })
})

t.test('a wrong value throws a TypeError that names the field and what is allowed', async (t) => {
  const string = 'must be a string, got'
  const table: [unknown, string][] = [
    [undefined, "caller: must be an object with a type ('api_key' or 'jwt' or 'ip'), got nothing"],
    [null, "caller: must be an object with a type ('api_key' or 'jwt' or 'ip'), got null"],
    ['secret', "caller: must be an object with a type ('api_key' or 'jwt' or 'ip'), got a value of type string"],
    [{}, "caller.type: must be 'api_key' or 'jwt' or 'ip'"],
    [[], "caller.type: must be 'api_key' or 'jwt' or 'ip'"],
    [{ type: 'secret', name: 'n' }, "caller.type: must be 'api_key' or 'jwt' or 'ip'"],
    [{ type: ['ip'], address: '1.2.3.4' }, "caller.type: must be 'api_key' or 'jwt' or 'ip'"],
    [{ type: 'api_key' }, `caller.name: ${string} nothing`],
    [{ type: 'api_key', name: 7 }, `caller.name: ${string} a value of type number`],
    [{ type: 'api_key', name: ['secret'] }, `caller.name: ${string} a value of type object`],
    [{ type: 'jwt', iss: 'i' }, `caller.sub: ${string} nothing`],
    [{ type: 'jwt', iss: 'i', sub: null }, `caller.sub: ${string} null`],
    [{ type: 'jwt', iss: null, sub: 's' }, 'caller.iss: must be a string or absent, got null'],
    [{ type: 'jwt', iss: 1, sub: 's' }, 'caller.iss: must be a string or absent, got a value of type number'],
    [{ type: 'ip' }, `caller.address: ${string} nothing`],
    [{ type: 'ip', address: ['1.2.3.4'] }, `caller.address: ${string} a value of type object`],
    [
      { type: 'ip', address: '1.2.3.4:80' },
      "caller.address: must be an IPv4 or IPv6 address without port, brackets or prefix length, or 'unix' for peers without an address",
    ],
  ]
  for (const [value, message] of table) {
    t.throws(() => normalizeCaller(value), new TypeError(message), JSON.stringify(value))
  }
})

t.test('no message holds anything of the value', async (t) => {
  for (const text of notAddresses) {
    if (text === 'unix' || text === 'fe80::1%eth0' || text === '') continue
    try {
      normalizeCaller({ type: 'ip', address: text })
      t.fail(`${JSON.stringify(text)} was taken for an address`)
    } catch (error) {
      t.notOk(String(error).includes(text), JSON.stringify(text))
    }
  }
})

t.test('normalizing is idempotent', async () => {
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('', '__proto__', '\ud800'))
  const address = fc.oneof(ipv4(anyIPv4Value), mapped(anyIPv4Value), ipv6(anyIPv6Value)).map((spelled) => spelled.text)
  const callers = fc.oneof(
    fc.record({ type: fc.constant('api_key'), name: text }),
    fc.record({ type: fc.constant('jwt'), iss: text, sub: text }, { requiredKeys: ['type', 'sub'] }),
    fc.record({ type: fc.constant('ip'), address: fc.oneof(address, fc.constantFrom('unix', 'fe80::1%eth0')) }),
  )
  fc.assert(
    fc.property(callers, (value) => {
      const once = normalizeCaller(value)
      return JSON.stringify(normalizeCaller(once)) === JSON.stringify(once)
    }),
    { numRuns: 500 },
  )
})
