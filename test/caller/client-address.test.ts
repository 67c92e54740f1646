import * as fc from 'fast-check'
import t from 'tap'
import { clientAddress } from '../../src/caller/client-address.ts'
import { parseTrustedProxies, type TrustedProxies } from '../../src/caller/trusted-proxies.ts'
import { charged, ipv4, ipv6, mapped, notAddresses, type Spelled } from './spellings.ts'

const ten = parseTrustedProxies(['10.0.0.0/8'])
const peer = '10.0.0.2'

t.test('case 4: RATE-002: entries that are no address select the peer', async (t) => {
  for (const entry of [
    '203.0.113.9:52114',
    '[2001:db8::1]',
    'unknown',
    '010.1.1.1',
    '192.168.1',
    '2130706433',
    '1.2.3.4/32',
    '203.0.113.9,',
    'fe80::1%eth0',
    ...notAddresses,
  ]) {
    const title = JSON.stringify(entry)
    t.equal(clientAddress(peer, entry, ten), peer, title)
    t.equal(clientAddress(peer, `203.0.113.9, ${entry}`, ten), peer, `${title} at the right`)
    t.equal(clientAddress(peer, `203.0.113.9, ${entry}, 10.0.0.7`, ten), peer, `${title} in the middle`)
    t.equal(clientAddress(peer, ['203.0.113.9', entry], ten), peer, `${title} on a line of its own`)
  }
})

t.test('case 4: RATE-002: the first untrusted address from the right', async (t) => {
  const table: [string | string[], string][] = [
    [['198.51.100.66', '203.0.113.9, 10.0.0.7'], '203.0.113.9'],
    ['junk, 203.0.113.9', '203.0.113.9'],
    ['10.0.0.9,10.0.0.7', '10.0.0.9'],
    ['203.0.113.9', '203.0.113.9'],
    [['203.0.113.9'], '203.0.113.9'],
    ['198.51.100.66, 203.0.113.9', '203.0.113.9'],
    ['203.0.113.9,10.0.0.7,::ffff:10.0.0.8,::FFFF:a00:9', '203.0.113.9'],
    [['203.0.113.9', '10.0.0.7', '10.0.0.8'], '203.0.113.9'],
    [['10.0.0.9, 10.0.0.8', '10.0.0.7'], '10.0.0.9'],
    [',203.0.113.9', '203.0.113.9'],
    [['', '203.0.113.9'], '203.0.113.9'],
    [' \t203.0.113.9\t , \t10.0.0.7 ', '203.0.113.9'],
    ['203.0.113.9,10.0.0.7', '203.0.113.9'],
    ['::ffff:203.0.113.9', '203.0.113.9'],
    ['::ffff:10.0.0.9', '10.0.0.9'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::'],
    ['203.0.113.9, ::10.0.0.1', '::'],
  ]
  for (const [header, expected] of table) t.equal(clientAddress(peer, header, ten), expected, JSON.stringify(header))
})

t.test('RATE-002: an empty entry is no address, wherever it is reached', async (t) => {
  for (const header of [
    '',
    ',',
    ' ',
    [''],
    ['203.0.113.9', ''],
    '203.0.113.9,',
    '203.0.113.9, ,10.0.0.7',
    '203.0.113.9,,10.0.0.7',
    ',10.0.0.7',
    ['203.0.113.9', ',10.0.0.7'],
    ['203.0.113.9', '10.0.0.7,'],
  ]) {
    t.equal(clientAddress(peer, header, ten), peer, JSON.stringify(header))
  }
})

t.test('RATE-002: without a header or behind an untrusted peer, the peer', async (t) => {
  t.equal(clientAddress(peer, undefined, ten), peer)
  t.equal(clientAddress(peer, [], ten), peer)
  t.equal(clientAddress('198.51.100.7', '203.0.113.9', ten), '198.51.100.7')
  t.equal(clientAddress('11.0.0.1', '203.0.113.9', ten), '11.0.0.1')
  t.equal(clientAddress('2001:db8:1:2:3::4', '203.0.113.9', ten), '2001:db8:1:2::')
  t.equal(clientAddress(peer, '203.0.113.9', parseTrustedProxies([])), peer, 'no proxies at all')
  t.equal(clientAddress('::ffff:10.0.0.2', '203.0.113.9', parseTrustedProxies([])), '10.0.0.2', 'no proxies at all')
})

t.test('case 4: RATE-002: an IPv4 peer of a dual-stack listener is compared as IPv4', async (t) => {
  t.equal(clientAddress('::ffff:10.0.0.2', '203.0.113.9', ten), '203.0.113.9')
  t.equal(clientAddress('::ffff:10.0.0.2', 'unknown', ten), '10.0.0.2')
  t.equal(clientAddress('::ffff:198.51.100.7', '203.0.113.9', ten), '198.51.100.7')
})

t.test('case 11: RATE-002: with only ::/0 a mapped peer is not trusted', async (t) => {
  const all6 = parseTrustedProxies(['::/0'])
  t.equal(clientAddress('::ffff:198.51.100.7', '203.0.113.9', all6), '198.51.100.7')
  t.equal(clientAddress('2001:db8::1', '203.0.113.9', all6), '203.0.113.9')
  t.equal(clientAddress('2001:db8::1', '::ffff:203.0.113.9, 2001:db8::2', all6), '203.0.113.9')
})

t.test('case 4: a zone id is cut from the peer and makes an entry no address', async (t) => {
  const local = parseTrustedProxies(['fe80::/10'])
  t.equal(clientAddress('fe80::1%eth0', undefined, local), 'fe80::')
  t.equal(clientAddress('fe80::1%eth0', '203.0.113.9', local), '203.0.113.9')
  t.equal(clientAddress('fe80::1%eth0', 'fe80::2%eth0', local), 'fe80::')
  t.equal(clientAddress('fe80:0:0:7::1%eth0', '203.0.113.9, fe80::2%eth0', local), 'fe80:0:0:7::')
  t.equal(clientAddress('fe80::1%eth0', '203.0.113.9', ten), 'fe80::')
})

t.test('RATE-002: a peer without an address is unix, and trusted when the list says so', async (t) => {
  const unix = parseTrustedProxies(['unix'])
  t.equal(clientAddress(undefined, undefined, ten), 'unix')
  t.equal(clientAddress(undefined, '203.0.113.9', ten), 'unix')
  t.equal(clientAddress(undefined, '203.0.113.9', parseTrustedProxies([])), 'unix')
  t.equal(clientAddress(undefined, undefined, unix), 'unix')
  t.equal(clientAddress(undefined, '203.0.113.9', unix), '203.0.113.9')
  t.equal(clientAddress(undefined, '203.0.113.9, unknown', unix), 'unix')
  t.equal(clientAddress(undefined, '203.0.113.9, unix', unix), 'unix', 'the word is no entry')
  t.equal(clientAddress(undefined, '203.0.113.9, 10.0.0.7', parseTrustedProxies(['unix', '10.0.0.0/8'])), '203.0.113.9')
  t.equal(clientAddress('198.51.100.7', '203.0.113.9', unix), '198.51.100.7')
})

t.test('a peer that is no address is charged as unix and never trusted', async (t) => {
  const everyone = parseTrustedProxies(['unix', '0.0.0.0/0', '::/0'])
  for (const text of ['', 'localhost', '010.0.0.2', '10.0.0.2:80', 'unix']) {
    t.equal(clientAddress(text, '203.0.113.9', everyone), 'unix', JSON.stringify(text))
  }
})

t.test('RATE-002: the entries left of the selected one are not looked at', async (t) => {
  let looked = 0
  const counting: TrustedProxies = {
    ...ten,
    isTrusted: (address) => {
      looked++
      return ten.isTrusted(address)
    },
  }
  t.equal(clientAddress(peer, ['10.0.0.9', `${'10.0.0.8,'.repeat(1800)}203.0.113.9`], counting), '203.0.113.9')
  t.equal(looked, 2, 'the peer and the selected entry')
})

t.test('RATE-002: work grows with the length of the header, not with its square', async (t) => {
  // Far longer than any header Node lets in, so that a square would take minutes.
  const long = 1 << 20
  const table: [string, string, string][] = [
    ['commas', ','.repeat(long), peer],
    ['blanks', ' '.repeat(long), peer],
    ['commas on the left', `${','.repeat(long)}203.0.113.9`, '203.0.113.9'],
    ['blanks in the middle', `203.0.113.9${' '.repeat(long)},10.0.0.7`, '203.0.113.9'],
    ['one endless entry', '1'.repeat(long), peer],
    ['one endless IPv6 entry', `::${'1:'.repeat(long / 2)}`, peer],
    ['trusted proxies only', `${'10.0.0.7,'.repeat(long / 10)}10.0.0.8`, '10.0.0.7'],
    ['trusted proxies in mapped spelling', `x,${'::FFFF:a00:7,'.repeat(long / 14)}10.0.0.8`, peer],
  ]
  for (const [title, header, expected] of table) {
    const start = process.hrtime.bigint()
    t.equal(clientAddress(peer, header, ten), expected, title)
    const ms = Number(process.hrtime.bigint() - start) / 1e6
    t.ok(ms < 5000, `${title}: ${ms} ms`)
  }
})

/** What a proxy may have written: an address, trusted or not, or garbage; the numbers are known, not parsed. */
type Entry = (Spelled & { readonly trusted: boolean }) | { readonly text: string; readonly version?: never }

const within = (base: bigint, bits: number) =>
  fc.bigInt({ min: 0n, max: (1n << BigInt(bits)) - 1n }).map((low) => base | low)
const inTen = within(10n << 24n, 24)
const outside4 = fc.oneof(within(203n << 24n, 24), fc.constantFrom((11n << 24n) - (1n << 25n), 11n << 24n, 0n))
const inDb8 = within(0x2001_0db8n << 96n, 96)
const outside6 = fc.oneof(within(0x2001_0db9n << 96n, 96), inTen, fc.constantFrom(0n, 1n))

const trusted = fc.oneof(ipv4(inTen), mapped(inTen), ipv6(inDb8)).map((a) => ({ ...a, trusted: true }))
const untrusted = fc.oneof(ipv4(outside4), mapped(outside4), ipv6(outside6)).map((a) => ({ ...a, trusted: false }))
const garbage = fc.constantFrom(...notAddresses).map((text): Entry => ({ text }))
const entries: fc.Arbitrary<Entry> = fc.oneof(
  { weight: 6, arbitrary: trusted },
  { weight: 2, arbitrary: untrusted },
  { weight: 1, arbitrary: garbage },
)
const blank = fc.constantFrom('', '', ' ', '\t', ' \t ')
const padded = fc
  .tuple(entries, blank, blank)
  .map(([entry, left, right]) => ({ entry, written: left + entry.text + right }))
const lines = fc.array(fc.array(padded, { minLength: 1, maxLength: 5 }), { maxLength: 4 })

/** RATE-002 word for word, over the entries as one list. */
function modelOf(from: Entry, list: readonly Entry[]): Entry {
  const rightToLeft = list.toReversed()
  if (from.version === undefined || !from.trusted || list.length === 0) return from
  const stop = rightToLeft.find((entry) => entry.version === undefined || !entry.trusted)
  if (stop === undefined) return list[0]!
  return stop.version === undefined ? from : stop
}

t.test('RATE-002: the selection agrees with the rule read word for word', async () => {
  const proxies = parseTrustedProxies(['192.0.2.1', '10.0.0.0/8', '2001:db8::/32'])
  fc.assert(
    fc.property(fc.oneof(trusted, trusted, untrusted), lines, fc.boolean(), (from, written, joined) => {
      const header = written.map((line) => line.map((entry) => entry.written).join(','))
      const value = header.length === 0 ? undefined : joined ? header.join(', ') : header
      const selected = modelOf(
        from,
        written.flat().map((item) => item.entry),
      )
      return clientAddress(from.text, value, proxies) === charged(selected as Spelled)
    }),
    { numRuns: 5000 },
  )
})
