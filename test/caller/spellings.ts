import * as fc from 'fast-check'

/** An address as numbers, with one of its many spellings. The numbers come first, so that no parser is trusted here. */
export type Spelled = { readonly version: 4 | 6; readonly value: bigint; readonly text: string }

const groupOf = (value: bigint, index: number) => Number((value >> BigInt(16 * (7 - index))) & 0xffffn)
const octetOf = (value: bigint, index: number) => Number((value >> BigInt(8 * (3 - index))) & 0xffn)

export const dotted = (value: bigint) => [0, 1, 2, 3].map((i) => octetOf(value, i)).join('.')

/** Every choice that a writer of an IPv6 address has. */
type Style = { upper: boolean; dottedTail: boolean; pad: readonly number[]; gap: number; gapLength: number }

const styles: fc.Arbitrary<Style> = fc.record({
  upper: fc.boolean(),
  dottedTail: fc.boolean(),
  pad: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 8, maxLength: 8 }),
  gap: fc.integer({ min: 0, max: 7 }),
  gapLength: fc.integer({ min: 0, max: 8 }),
})

function spell(value: bigint, style: Style): string {
  const groups = [0, 1, 2, 3, 4, 5, 6, 7].map((i) => groupOf(value, i))
  const last = style.dottedTail ? 6 : 8
  const hex = groups.slice(0, last).map((group, i) => group.toString(16).padStart(style.pad[i] ?? 1, '0'))
  const tail = style.dottedTail ? [dotted(value & 0xffff_ffffn)] : []
  let gapLength = 0
  while (gapLength < style.gapLength && style.gap + gapLength < last && groups[style.gap + gapLength] === 0) gapLength++
  const text =
    gapLength === 0
      ? [...hex, ...tail].join(':')
      : `${hex.slice(0, style.gap).join(':')}::${[...hex.slice(style.gap + gapLength), ...tail].join(':')}`
  return style.upper ? text.toUpperCase() : text
}

const mappedBase = 0xffffn << 32n

export const ipv4 = (values: fc.Arbitrary<bigint>): fc.Arbitrary<Spelled> =>
  values.map((value) => ({ version: 4, value, text: dotted(value) }))

/** IPv4 addresses spelled as IPv4-mapped IPv6 addresses; version and value are those of the IPv4 address. */
export const mapped = (values: fc.Arbitrary<bigint>): fc.Arbitrary<Spelled> =>
  fc.tuple(values, styles).map(([value, style]) => ({ version: 4, value, text: spell(mappedBase | value, style) }))

export const ipv6 = (values: fc.Arbitrary<bigint>): fc.Arbitrary<Spelled> =>
  fc
    .tuple(values, styles)
    .filter(([value]) => value >> 32n !== 0xffffn)
    .map(([value, style]) => ({ version: 6, value, text: spell(value, style) }))

export const anyIPv4Value = fc.bigInt({ min: 0n, max: 0xffff_ffffn })

/** IPv6 values with many zero groups, so that `::` has places to stand, and some just beside the mapped range. */
export const anyIPv6Value = fc.oneof(
  fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }),
  fc
    .array(fc.oneof(fc.constant(0n), fc.bigInt({ min: 0n, max: 0xffffn })), { minLength: 8, maxLength: 8 })
    .map((groups) => groups.reduce((value, group) => (value << 16n) | group, 0n)),
  fc.bigInt({ min: 0n, max: 0xffff_ffffn }),
  fc.bigInt({ min: 0n, max: 0xffff_ffffn }).map((low) => (0xffff_0000n << 32n) | low),
)

/** The charged form, from the numbers alone. */
export function charged({ version, value }: Pick<Spelled, 'version' | 'value'>): string {
  if (version === 4) return dotted(value)
  const groups = [0, 1, 2, 3].map((i) => groupOf(value, i))
  while (groups.at(-1) === 0) groups.pop()
  return `${groups.map((group) => group.toString(16)).join(':')}::`
}

/** Texts that are near an address and none. */
export const notAddresses = [
  '',
  'unknown',
  '_hidden',
  'unix',
  '010.1.1.1',
  '1.2.3.04',
  '0x7f.0.0.1',
  '192.168.1',
  '127.1',
  '2130706433',
  '1.2.3.4.5',
  '1.2.3.256',
  '1.2.3.4/32',
  '203.0.113.9:52114',
  '1.2.3.4%eth0',
  '"1.2.3.4"',
  '1.2.3.4 5.6.7.8',
  '1.2.3.4\u00a0',
  '1.2.3.4\n',
  '1.2.3.4\0',
  '１.2.3.4',
  '[2001:db8::1]',
  '[2001:db8::1]:443',
  '2001:db8::1/128',
  'fe80::1%eth0',
  'fe80::1%',
  ':::',
  '1::2::3',
  '1:2:3:4:5:6:7',
  '1:2:3:4:5:6:7:8:9',
  '1:2:3:4:5:6:7:8::',
  '00001::',
  '::g',
  '::ffff:010.0.0.1',
  '::ffff:10.0.1',
  '::ffff:1.2.3.4:5',
  '::1.2.3.4:5',
] as const
