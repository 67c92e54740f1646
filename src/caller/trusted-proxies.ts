import ipaddr from 'ipaddr.js'
import { type Address, parseAddress, unixAddress } from './address.ts'

/** The proxies whose X-Forwarded-For entries count as evidence (RATE-002). */
export type TrustedProxies = {
  /** Nobody is trusted. */
  readonly isEmpty: boolean
  /** Peers without an address, those on a Unix socket, are trusted. */
  readonly unix: boolean
  /** True when the address lies in one of the networks. IPv6 networks, `::/0` too, hold no IPv4 address. */
  isTrusted(address: Address): boolean
}

type Network = { readonly base: Address; readonly prefix: number }

/**
 * Reads the option `trustedProxies`: networks (`10.0.0.0/8`, `2001:db8::/32`), single addresses, and the word `unix`
 * for peers on a Unix socket. Addresses are strict as in {@link parseAddress}; a prefix length is a plain whole number
 * and leaves no bit of the address behind it set. A network of IPv4-mapped addresses is the IPv4 network it stands
 * for: `::ffff:10.0.0.0/104` is `10.0.0.0/8`. An empty list, the default, trusts nobody.
 *
 * @throws Error naming the first bad entry's index and text, and what is allowed
 */
export function parseTrustedProxies(entries: readonly string[]): TrustedProxies {
  let unix = false
  const networks: Network[] = []
  for (const [index, entry] of entries.entries()) {
    if (entry === unixAddress) unix = true
    else networks.push(parseNetwork(entry, index))
  }
  return trust(networks, unix)
}

function trust(networks: readonly Network[], unix: boolean): TrustedProxies {
  const bases4: number[] = []
  const masks4: number[] = []
  const networks6: [ipaddr.IPv6, number][] = []
  for (const { base, prefix } of networks) {
    if (base.version === 4) {
      bases4.push(base.bits)
      // A shift by 32 is a shift by 0 in JavaScript.
      masks4.push(prefix === 0 ? 0 : -1 << (32 - prefix))
    } else {
      networks6.push([base.ip, prefix])
    }
  }
  return Object.freeze({
    isEmpty: networks.length === 0 && !unix,
    unix,
    isTrusted(address: Address): boolean {
      if (address.version === 4) {
        for (let i = 0; i < bases4.length; i++) {
          if ((address.bits & masks4[i]!) === bases4[i]) return true
        }
        return false
      }
      for (const network of networks6) {
        if (address.ip.match(network)) return true
      }
      return false
    },
  })
}

function parseNetwork(entry: unknown, index: number): Network {
  if (typeof entry !== 'string') throw refusal(index, `a value of type ${typeof entry}`, 'is not a string')
  const refuse = (reason: string) => refusal(index, JSON.stringify(entry), reason)

  const slash = entry.indexOf('/')
  const addressText = slash < 0 ? entry : entry.slice(0, slash)
  const base = parseAddress(addressText)
  if (base === undefined) throw refuse('does not begin with an IPv4 or IPv6 address that is spelled strictly')

  // Text with colons that is read as IPv4 is a mapped address.
  const mapped = base.version === 4 && addressText.includes(':')
  const most = base.version === 4 && !mapped ? 32 : 128
  const prefix = slash < 0 ? most : parsePrefix(entry.slice(slash + 1))
  if (prefix === undefined)
    throw refuse(`has a prefix length that is not a whole number from 0 to ${most} in plain digits`)
  if (prefix > most) throw refuse(`has a prefix length above ${most}`)
  if (mapped && prefix < mappedBits) {
    throw refuse(
      `is a network of IPv4-mapped addresses with a prefix length below ${mappedBits}; write the IPv4 network`,
    )
  }

  const network = { base, prefix: mapped ? prefix - mappedBits : prefix }
  const meant = networkOf(network)
  if (meant !== baseText(base)) {
    throw refuse(`has bits set behind its prefix length; the network ${meant}/${network.prefix} was probably meant`)
  }
  return network
}

const mappedBits = 96

function parsePrefix(text: string): number | undefined {
  return /^(?:0|[1-9][0-9]{0,2})$/.test(text) ? Number(text) : undefined
}

function baseText(base: Address): string {
  return base.version === 4 ? base.text : base.ip.toString()
}

function networkOf({ base, prefix }: Network): string {
  const family = base.version === 4 ? ipaddr.IPv4 : ipaddr.IPv6
  return family.networkAddressFromCIDR(`${baseText(base)}/${prefix}`).toString()
}

function refusal(index: number, what: string, reason: string): Error {
  return new Error(`trustedProxies[${index}]: ${what} ${reason}. ${allowed}`)
}

const allowed =
  'Allowed are networks such as "10.0.0.0/8" or "2001:db8::/32", single IPv4 or IPv6 addresses without zone id, ' +
  'and "unix" for peers on a Unix socket'
