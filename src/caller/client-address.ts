import { type Address, chargedAddress, chargedForm, parseAddress, parsePeer, unixAddress } from './address.ts'
import type { TrustedProxies } from './trusted-proxies.ts'

/**
 * The client address of a request (RATE-002), in the form in which it is charged (RATE-003) or in another.
 *
 * When the peer is a trusted proxy, the entries of X-Forwarded-For are read from the right: the first one that is no
 * trusted proxy is the client, or the leftmost one when all are. An entry that is reached and is no address (a port,
 * brackets, a zone id, `unknown`, nothing at all) makes the peer the client, as does a peer that is not trusted.
 *
 * Never throws. Entries left of the selected one are not looked at.
 *
 * @param peer the remote address of the socket; `undefined` on a Unix socket, which is charged as `unix`, and is trusted
 *   only when the list holds `unix`. A zone id is cut. A text that is no address is charged as `unix` and never trusted.
 * @param forwardedFor the X-Forwarded-For header; several lines count in their order as one list
 */
export function clientAddress(
  peer: string | undefined,
  forwardedFor: string | readonly string[] | undefined,
  proxies: TrustedProxies,
  form: (address: Address) => string = chargedForm,
): string {
  const own = () => peerIn(form, peer)
  if (proxies.isEmpty || forwardedFor === undefined || !isTrustedPeer(peer, proxies)) return own()
  const selected = select(typeof forwardedFor === 'string' ? [forwardedFor] : forwardedFor, proxies)
  return selected === undefined ? own() : form(selected)
}

function isTrustedPeer(peer: string | undefined, proxies: TrustedProxies): boolean {
  if (peer === undefined) return proxies.unix
  const address = parsePeer(peer)
  return address !== undefined && proxies.isTrusted(address)
}

function peerIn(form: (address: Address) => string, peer: string | undefined): string {
  if (peer === undefined) return unixAddress
  // That of most peers needs no parse.
  if (form === chargedForm) return chargedAddress(peer) ?? unixAddress
  const address = parsePeer(peer)
  return address === undefined ? unixAddress : form(address)
}

/** The selected entry, or `undefined` where the peer is to be selected. */
function select(lines: readonly string[], proxies: TrustedProxies): Address | undefined {
  let leftmost: Address | undefined
  for (let i = lines.length - 1; i >= 0; i--) {
    const line = lines[i]!
    let end = line.length
    do {
      // lastIndexOf takes a negative start for 0, and would find a comma there again.
      const comma = end === 0 ? -1 : line.lastIndexOf(',', end - 1)
      const address = parseAddress(trimmed(line, comma + 1, end))
      if (address === undefined || !proxies.isTrusted(address)) return address
      leftmost = address
      end = comma
    } while (end >= 0)
  }
  return leftmost
}

/** The part of a line without the optional white space around it: spaces and tabs only (RFC 9110, 5.6.3). */
function trimmed(line: string, from: number, to: number): string {
  let start = from
  let end = to
  while (start < end && isBlank(line.charCodeAt(start))) start++
  while (end > start && isBlank(line.charCodeAt(end - 1))) end--
  return line.slice(start, end)
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09
}
