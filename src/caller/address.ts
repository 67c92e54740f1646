import { isIPv4, isIPv6 } from 'node:net'
import ipaddr from 'ipaddr.js'

/** What a peer without an address (one on a Unix socket) is charged as. All such peers are one caller. */
export const unixAddress = 'unix'

/**
 * An address that was spelled strictly. An IPv4-mapped IPv6 address is its IPv4 address here, whatever its spelling
 * (RATE-002, RATE-003).
 */
export type Address =
  | {
      readonly version: 4
      /** Dotted decimal. */
      readonly text: string
      /** The 32 bits, as the signed number that JavaScript's bit operators work on. */
      readonly bits: number
    }
  | { readonly version: 6; readonly ip: ipaddr.IPv6 }

const mappedPrefix = '::ffff:'

/**
 * Reads an IPv4 or IPv6 address, as strictly as `net.isIP` and without a zone id: no octal or hexadecimal numbers in
 * IPv4, no short forms, ports, brackets, prefix lengths or blanks. Anything else is `undefined`.
 */
export function parseAddress(text: string): Address | undefined {
  if (isIPv4(text)) return ipv4(text)
  const dotted = mappedDottedPart(text)
  if (dotted !== undefined) return ipv4(dotted)
  const ip = parseIPv6(text)
  if (ip === undefined) return undefined
  return ip.isIPv4MappedAddress() ? ipv4(ip.toIPv4Address().toString()) : { version: 6, ip }
}

/**
 * Reads the address of a peer as the operating system reports it: as {@link parseAddress}, but the zone id of an IPv6
 * address (`fe80::1%eth0`) is cut, because it names an interface of this machine and not the peer.
 */
export function parsePeer(text: string): Address | undefined {
  const percent = text.indexOf('%')
  if (percent < 0) return parseAddress(text)
  const bare = text.slice(0, percent)
  return isIPv6(bare) && zoneId.test(text.slice(percent + 1)) ? parseAddress(bare) : undefined
}

const zoneId = /^[^\s/]+$/

/**
 * The form in which an address is charged (RATE-003): IPv4 in dotted decimal; of any other IPv6 address the base
 * address of its /64, as RFC 5952 writes it (`2001:db8:1:2::`).
 */
export function chargedForm(address: Address): string {
  if (address.version === 4) return address.text
  const { parts } = address.ip
  // The zeros at the end are the longest run, so `::` always stands there.
  let count = 4
  while (count > 0 && parts[count - 1] === 0) count--
  let text = ''
  for (let i = 0; i < count; i++) text += i === 0 ? parts[i]!.toString(16) : `:${parts[i]!.toString(16)}`
  return `${text}::`
}

/** An address in full: IPv4 in dotted decimal, IPv6 as RFC 5952 writes it. */
export function fullForm(address: Address): string {
  return address.version === 4 ? address.text : address.ip.toString()
}

/**
 * The form in which a peer is charged (RATE-003), from its address as text; a zone id is cut, and `unix` stays `unix`.
 * `undefined` when the text is no address. Charging a charged form gives it back unchanged.
 */
export function chargedAddress(text: string): string | undefined {
  if (isIPv4(text)) return text
  const dotted = mappedDottedPart(text)
  if (dotted !== undefined) return dotted
  if (text === unixAddress) return text
  const address = parsePeer(text)
  return address && chargedForm(address)
}

/** An address in full, however it is spelled; a zone id is cut, and `unix` stays `unix`. `undefined` when the text is no address. */
export function fullAddress(text: string): string | undefined {
  if (isIPv4(text) || text === unixAddress) return text
  const address = parsePeer(text)
  return address && fullForm(address)
}

/** The IPv4 part of the one spelling in which Node reports IPv4 peers of a dual-stack listener, found without a parse. */
function mappedDottedPart(text: string): string | undefined {
  if (!text.startsWith(mappedPrefix)) return undefined
  const dotted = text.slice(mappedPrefix.length)
  return isIPv4(dotted) ? dotted : undefined
}

function parseIPv6(text: string): ipaddr.IPv6 | undefined {
  if (!isIPv6(text) || text.includes('%')) return undefined
  // ipaddr.js takes `::1.2.3.4` for the mapped ::ffff:1.2.3.4, but it is ::102:304; written in full it is read right.
  const compatible = text.startsWith('::') && isIPv4(text.slice(2))
  return ipaddr.IPv6.parse(compatible ? `0:0:0:0:0:0:${text.slice(2)}` : text)
}

function ipv4(text: string): Address {
  let bits = 0
  let octet = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === dot) {
      bits = (bits << 8) | octet
      octet = 0
    } else {
      octet = octet * 10 + (code - zero)
    }
  }
  return { version: 4, text, bits: (bits << 8) | octet }
}

const dot = 46
const zero = 48
