import * as fc from 'fast-check'
import t from 'tap'
import { chargedAddress, chargedForm, parseAddress, parsePeer } from '../../src/caller/address.ts'
import { anyIPv4Value, anyIPv6Value, charged, dotted, ipv4, ipv6, mapped, notAddresses } from './spellings.ts'

t.test('RATE-003: the charged form', async (t) => {
  const table: [string, string][] = [
    ['203.0.113.9', '203.0.113.9'],
    ['0.0.0.0', '0.0.0.0'],
    ['255.255.255.255', '255.255.255.255'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::'],
    ['2001:db8:1:2::', '2001:db8:1:2::'],
    ['2001:0DB8:0001:0002:0000:0000:0000:0001', '2001:db8:1:2::'],
    ['2001:db8::1', '2001:db8::'],
    ['0:0:0:1::1', '0:0:0:1::'],
    ['1:0:0:2::1', '1:0:0:2::'],
    ['::1', '::'],
    ['::', '::'],
    ['fe80::1%eth0', 'fe80::'],
    ['fe80::1%br_lan.7', 'fe80::'],
    ['unix', 'unix'],
  ]
  for (const [text, expected] of table) t.equal(chargedAddress(text), expected, text)
})

t.test('RATE-003: an IPv4-mapped address in any spelling is its IPv4 address', async (t) => {
  for (const text of [
    '::ffff:198.51.100.7',
    '::FFFF:198.51.100.7',
    '::ffff:c633:6407',
    '0:0:0:0:0:ffff:198.51.100.7',
    '0:0:0:0:0:FFFF:C633:6407',
    '0000:0000:0000:0000:0000:ffff:198.51.100.7',
    '0::ffff:c633:6407',
    '0:0::0:ffff:198.51.100.7',
    '::0:0:ffff:c633:6407',
    '::ffff:198.51.100.7%eth0',
  ]) {
    t.equal(chargedAddress(text), '198.51.100.7', text)
  }
})

t.test('RATE-003: addresses that only look mapped are IPv6', async (t) => {
  for (const text of ['::198.51.100.7', '::c633:6407', '::ffff:0:198.51.100.7', '::fffe:198.51.100.7']) {
    t.equal(parseAddress(text)?.version, 6, text)
    t.equal(chargedAddress(text), '::', text)
  }
  t.equal(chargedAddress('64:ff9b::198.51.100.7'), '64:ff9b::', 'NAT64 is no mapped form')
})

t.test('RATE-003: every spelling of an address is charged alike, and the charged form again', async () => {
  const spelled = fc.oneof(ipv4(anyIPv4Value), mapped(anyIPv4Value), ipv6(anyIPv6Value))
  fc.assert(
    fc.property(spelled, (address) => {
      const form = chargedAddress(address.text)
      return form === charged(address) && chargedAddress(form) === form
    }),
    { numRuns: 3000 },
  )
})

t.test('RATE-002: every spelling is read as the same bits', async () => {
  fc.assert(
    fc.property(fc.oneof(ipv4(anyIPv4Value), mapped(anyIPv4Value)), ({ value, text }) => {
      const address = parseAddress(text)
      return (
        address?.version === 4 && address.text === dotted(value) && address.bits === Number(BigInt.asIntN(32, value))
      )
    }),
    { numRuns: 1000 },
  )
  fc.assert(
    fc.property(ipv6(anyIPv6Value), ({ value, text }) => {
      const address = parseAddress(text)
      return address?.version === 6 && address.ip.parts.reduce((all, p) => (all << 16n) | BigInt(p), 0n) === value
    }),
    { numRuns: 1000 },
  )
})

t.test('RATE-003: two IPv6 addresses share a charged form exactly when they share their first 64 bits', async () => {
  const halves = fc.tuple(fc.bigInt({ min: 0n, max: 3n }), fc.bigInt({ min: 0n, max: 3n }))
  const near = ipv6(halves.map(([high, low]) => (0x2001_0db8n << 96n) | (high << 63n) | low))
  fc.assert(
    fc.property(near, near, (one, other) => {
      const same = one.value >> 64n === other.value >> 64n
      return (chargedAddress(one.text) === chargedAddress(other.text)) === same
    }),
  )
})

t.test('RATE-002: what is no address', async (t) => {
  for (const text of notAddresses) t.equal(parseAddress(text), undefined, JSON.stringify(text))
  for (const blank of [' 1.2.3.4', '1.2.3.4 ', '\t::1', '::1 ']) t.equal(parseAddress(blank), undefined, blank)
})

t.test('a zone id is cut from a peer, and only a zone id', async (t) => {
  const peer = parsePeer('fe80::1:2%eth0')
  t.equal(peer && chargedForm(peer), 'fe80::')
  for (const text of ['1.2.3.4%eth0', 'fe80::1%', 'fe80::1%eth0/64', '%eth0', 'fe80::1 %eth0', 'x%fe80::1']) {
    t.equal(parsePeer(text), undefined, text)
    t.equal(chargedAddress(text), undefined, text)
  }
})
