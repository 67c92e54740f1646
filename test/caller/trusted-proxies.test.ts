import * as fc from 'fast-check'
import t from 'tap'
import { parseAddress } from '../../src/caller/address.ts'
import { parseTrustedProxies } from '../../src/caller/trusted-proxies.ts'
import { anyIPv4Value, anyIPv6Value, dotted, ipv4, ipv6, mapped, notAddresses } from './spellings.ts'

const trusts = (entries: string[], text: string) => parseTrustedProxies(entries).isTrusted(parseAddress(text)!)

t.test('an empty list trusts nobody', async (t) => {
  const none = parseTrustedProxies([])
  t.equal(none.isEmpty, true)
  t.equal(none.unix, false)
  t.equal(none.isTrusted(parseAddress('127.0.0.1')!), false)
  t.equal(none.isTrusted(parseAddress('::1')!), false)
})

t.test('the word unix trusts peers without an address and no others', async (t) => {
  const unix = parseTrustedProxies(['unix'])
  t.equal(unix.unix, true)
  t.equal(unix.isEmpty, false)
  t.equal(unix.isTrusted(parseAddress('127.0.0.1')!), false)
  t.equal(parseTrustedProxies(['10.0.0.0/8']).unix, false)
  t.equal(parseTrustedProxies(['10.0.0.0/8', 'unix', '::1']).unix, true)
})

t.test('RATE-002: networks and single addresses', async (t) => {
  const table: [string, string, boolean][] = [
    ['10.0.0.0/8', '10.0.0.0', true],
    ['10.0.0.0/8', '10.255.255.255', true],
    ['10.0.0.0/8', '9.255.255.255', false],
    ['10.0.0.0/8', '11.0.0.0', false],
    ['10.0.0.0/8', '::ffff:10.1.2.3', true],
    ['10.0.0.0/8', '::FFFF:0a01:0203', true],
    ['10.0.0.0/8', '::10.1.2.3', false],
    ['10.1.2.3', '10.1.2.3', true],
    ['10.1.2.3', '10.1.2.2', false],
    ['10.1.2.3/32', '10.1.2.3', true],
    ['10.1.2.2/31', '10.1.2.3', true],
    ['10.1.2.2/31', '10.1.2.4', false],
    ['128.0.0.0/1', '255.0.0.1', true],
    ['128.0.0.0/1', '127.0.0.1', false],
    ['0.0.0.0/0', '255.255.255.255', true],
    ['0.0.0.0/0', '::1', false],
    ['2001:db8::/32', '2001:db8:ffff::1', true],
    ['2001:db8::/32', '2001:db9::', false],
    ['2001:DB8:0::/32', '2001:db8::1', true],
    ['2001:db8::/33', '2001:db8:8000::', false],
    ['2001:db8::/127', '2001:db8::1', true],
    ['2001:db8::/127', '2001:db8::2', false],
    ['::1', '::1', true],
    ['::1/128', '::2', false],
    ['::/0', 'ffff::1', true],
    ['::/0', '::10.0.0.1', true],
    ['::a00:0/104', '::10.0.0.1', true],
    ['::10.0.0.0/104', '10.0.0.1', false],
  ]
  for (const [entry, text, expected] of table) {
    t.equal(trusts([entry], text), expected, `${text} ${expected ? 'is' : 'is not'} in ${entry}`)
    t.equal(trusts(['192.0.2.1', entry, '2001:db8:dead::/48'], text), expected, `${entry} among others`)
  }
})

t.test('case 11: RATE-002: a network of mapped addresses is the IPv4 network', async (t) => {
  for (const entry of ['::ffff:10.0.0.0/104', '::FFFF:a00:0/104', '0:0:0:0:0:ffff:10.0.0.0/104']) {
    t.equal(trusts([entry], '10.200.0.1'), true, entry)
    t.equal(trusts([entry], '::ffff:10.200.0.1'), true, entry)
    t.equal(trusts([entry], '11.0.0.0'), false, entry)
  }
  t.equal(trusts(['::ffff:0:0/96'], '203.0.113.9'), true)
  t.equal(trusts(['::ffff:10.1.2.3'], '10.1.2.3'), true)
  t.equal(trusts(['::ffff:10.1.2.3'], '10.1.2.2'), false)
  t.equal(trusts(['::ffff:10.1.2.3/128'], '10.1.2.2'), false)
})

t.test('case 11: RATE-002: with only ::/0, an IPv4 address in any spelling is not trusted', async (t) => {
  for (const entry of ['::/0', '::/64', '::fffe:0:0/95']) {
    for (const text of ['::ffff:198.51.100.7', '198.51.100.7', '0:0:0:0:0:FFFF:c633:6407']) {
      t.equal(trusts([entry], text), false, `${text}, ${entry}`)
    }
  }
})

t.test('case 11: a bad entry is refused by index and text, with what is allowed', async (t) => {
  const start = 'does not begin with an IPv4 or IPv6 address that is spelled strictly'
  const plain = (most: number) => `has a prefix length that is not a whole number from 0 to ${most} in plain digits`
  const meant = (network: string) => `has bits set behind its prefix length; the network ${network} was probably meant`
  const below96 = 'is a network of IPv4-mapped addresses with a prefix length below 96; write the IPv4 network'
  const table: [string, string][] = [
    ['10.0.0.0/33', 'has a prefix length above 32'],
    ['10.0.0.0/999', 'has a prefix length above 32'],
    ['2001:db8::/129', 'has a prefix length above 128'],
    ['::ffff:10.0.0.0/129', 'has a prefix length above 128'],
    ['10.0.0/8', start],
    ['010.0.0.0/8', start],
    ['', start],
    ['/8', start],
    [' 10.0.0.0/8', start],
    ['10.0.0.0 /8', start],
    ['UNIX', start],
    ['unix ', start],
    ['loopback', start],
    ['fe80::1%eth0', start],
    ['fe80::%eth0/10', start],
    ['10.0.0.1-10.0.0.9', start],
    ['10.0.0.0/255.0.0.0', plain(32)],
    ['10.0.0.0/ 24', plain(32)],
    ['10.0.0.0/24 ', plain(32)],
    ['10.0.0.0/08', plain(32)],
    ['10.0.0.0/+8', plain(32)],
    ['10.0.0.0/-8', plain(32)],
    ['10.0.0.0/8.0', plain(32)],
    ['10.0.0.0/8e0', plain(32)],
    ['10.0.0.0/0x8', plain(32)],
    ['10.0.0.0/1000', plain(32)],
    ['10.0.0.0/', plain(32)],
    ['10.0.0.0//8', plain(32)],
    ['10.0.0.0/8/8', plain(32)],
    ['10.0.0.0/８', plain(32)],
    ['2001:db8::/032', plain(128)],
    ['10.0.0.1/8', meant('10.0.0.0/8')],
    ['10.0.0.1/0', meant('0.0.0.0/0')],
    ['10.0.0.3/31', meant('10.0.0.2/31')],
    ['2001:db8::1/32', meant('2001:db8::/32')],
    ['2001:db8::1/127', meant('2001:db8::/127')],
    ['::1/0', meant('::/0')],
    ['::10.0.0.1/104', meant('::a00:0/104')],
    ['::ffff:10.0.0.1/104', meant('10.0.0.0/8')],
    ['::ffff:10.0.0.0/95', below96],
    ['::ffff:0:0/95', below96],
    ['::ffff:0:0/0', below96],
  ]
  for (const [entry, reason] of table) {
    const message =
      `trustedProxies[1]: ${JSON.stringify(entry)} ${reason}. ` +
      'Allowed are networks such as "10.0.0.0/8" or "2001:db8::/32", single IPv4 or IPv6 addresses without zone id, ' +
      'and "unix" for peers on a Unix socket'
    t.throws(() => parseTrustedProxies(['10.0.0.0/8', entry]), new Error(message), JSON.stringify(entry))
  }
})

t.test('what is no address is no trusted proxy, nor with a prefix length', async (t) => {
  for (const text of notAddresses) {
    if (text === 'unix' || text.includes('/')) continue
    t.throws(() => parseTrustedProxies([text]), /^trustedProxies\[0\]: /, JSON.stringify(text))
    t.throws(() => parseTrustedProxies([`${text}/8`]), /^trustedProxies\[0\]: /, JSON.stringify(text))
  }
})

t.test('an entry that is no string is refused by index', async (t) => {
  for (const entry of [undefined, null, 10, ['10.0.0.0/8'], { cidr: '10.0.0.0/8' }, 1n]) {
    t.throws(
      () => parseTrustedProxies(['unix', entry as unknown as string]),
      /^trustedProxies\[1\]: a value of type \w+ is not a string/,
    )
  }
})

t.test('RATE-002: membership agrees with the bits', async () => {
  const network4 = fc.tuple(anyIPv4Value, fc.integer({ min: 0, max: 32 }))
  // Addresses that differ from the network's base in one bit are the ones on either side of its edge.
  fc.assert(
    fc.property(network4, fc.integer({ min: 0, max: 31 }), fc.boolean(), ([value, prefix], flipped, asMapped) => {
      const rest = BigInt(32 - prefix)
      const base = (value >> rest) << rest
      const address = base ^ (1n << BigInt(flipped))
      const text = asMapped ? `::ffff:${dotted(address)}` : dotted(address)
      return trusts([`${dotted(base)}/${prefix}`], text) === (base >> rest === address >> rest)
    }),
    { numRuns: 1000 },
  )
  fc.assert(
    fc.property(
      anyIPv6Value,
      fc.integer({ min: 0, max: 128 }),
      fc.integer({ min: 0, max: 127 }),
      (value, prefix, bit) => {
        const rest = BigInt(128 - prefix)
        const base = (value >> rest) << rest
        const address = base ^ (1n << BigInt(bit))
        fc.pre(base >> 32n !== 0xffffn && address >> 32n !== 0xffffn)
        const hex = (all: bigint) => all.toString(16).padStart(32, '0').match(/.{4}/g)!.join(':')
        return trusts([`${hex(base)}/${prefix}`], hex(address)) === (base >> rest === address >> rest)
      },
    ),
    { numRuns: 1000 },
  )
})

t.test('RATE-002: an address is in the network of its own spelling', async () => {
  const spelled = fc.oneof(ipv4(anyIPv4Value), mapped(anyIPv4Value), ipv6(anyIPv6Value))
  fc.assert(
    fc.property(spelled, spelled, (one, other) => {
      const same = one.version === other.version && one.value === other.value
      return trusts([one.text], one.text) && trusts([one.text], other.text) === same
    }),
  )
})
