import type { Address } from './address.ts'
import { clientAddress } from './client-address.ts'
import type { TrustedProxies } from './trusted-proxies.ts'

/** A request as Node received it, over HTTP/1.1 or HTTP/2. */
interface RawRequest {
  readonly httpVersionMajor: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly rawHeaders: readonly string[]
  /** null: the request was given up while its body was read. */
  readonly socket: (object & { readonly remoteAddress?: string | undefined }) | null
}

/** What accepted its connection. */
interface Server {
  address(): unknown
  readonly maxHeadersCount?: number | null
}

/**
 * The client address of a request (RATE-002), from the socket's peer and the raw header. undefined: the client has gone, and
 * with it its address.
 * @param fallback The server of the app, for requests that do not know theirs.
 * @param form Default: as it is charged (RATE-003).
 */
export function requestAddress(
  raw: RawRequest,
  fallback: Server,
  trustedProxies: TrustedProxies,
  form?: (address: Address) => string,
): string | undefined {
  if (raw.socket === null) return undefined
  // Only sockets of HTTP/1.1 know their server, which may be another than the app's.
  const { server = fallback } = raw.socket as { server?: Server }
  const peer = raw.socket.remoteAddress
  if (peer === undefined && isOnTcp(server)) return undefined
  const forwardedFor = mayLackHeaderLines(raw, server) ? undefined : raw.headers['x-forwarded-for']
  return clientAddress(peer, forwardedFor, trustedProxies, form)
}

/**
 * Whether a server listens on TCP. A client that resets its connection there right after sending has no address any more:
 * taken for a peer on a Unix socket, it could choose whom it is charged to where `unix` is trusted. Of a Unix socket that
 * was handed over as a file descriptor Node does not know the name.
 */
function isOnTcp(server: Server): boolean {
  const address = server.address()
  return typeof address === 'object' && address !== null
}

/** How many header lines Node takes when `server.maxHeadersCount` does not say. */
const DEFAULT_MAX_HEADERS_COUNT = 1000

/**
 * Whether lines of the header may be missing: older Node.js 22 leaves out, without a word, what is beyond
 * `server.maxHeadersCount`, which on HTTP/1.1 may be what a trusted proxy wrote; newer answers 431. X-Forwarded-For is no
 * evidence then.
 */
function mayLackHeaderLines({ httpVersionMajor, rawHeaders }: RawRequest, server: Server): boolean {
  const lines = server.maxHeadersCount ?? DEFAULT_MAX_HEADERS_COUNT
  return httpVersionMajor === 1 && lines > 0 && rawHeaders.length >= 2 * lines
}
