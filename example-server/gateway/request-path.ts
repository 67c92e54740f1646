/** Where a request wants to go: one spelling for each path, so that no spelling of it escapes a rule. */
export interface RequestPath {
  /** As it is forwarded. */
  path: string
  /** As it is compared: what a segment may carry unencoded is decoded. */
  compared: string
  /** With its `?`, unchanged; empty when there is none. */
  query: string
}

/** What Node lets through, less what RFC 3986 has no place for in a path or a query, and upstreams read in different ways. */
const TARGET = /^\/[!-~]*$/
const UNWANTED = /[\\#]/
/** A slash, a backslash, and control characters: an upstream may decode them, and see another path than the gateway. */
const UNWANTED_CODE = /%(?:2f|5c|[01][\da-f]|7f)/i
const UNRESERVED = /^[\w.~-]$/
/** RFC 3986, pchar. */
const SEGMENT_CHARACTER = /^[\w.~!$&'()*+,;=:@-]$/
/** Also with a parameter, which some upstreams cut off before they resolve the dots. */
const DOTS = /(?:^|\/)\.\.?(?:;[^/]*)?(?:\/|$)/

/**
 * Reads the target of a request. One in absolute form goes by its path, and never to the host that it names (RFC 9112,
 * section 3.2.2). Returns undefined for what upstreams do not agree on: dot segments, empty segments, encoded slashes,
 * backslashes, broken encodings; and for `*`.
 */
export function readTarget(target: string): RequestPath | undefined {
  const relative = originForm(target)
  const at = relative.indexOf('?')
  const [raw, query] = at === -1 ? [relative, ''] : [relative.slice(0, at), relative.slice(at)]
  if (!TARGET.test(relative) || UNWANTED.test(relative) || UNWANTED_CODE.test(raw) || !decodable(raw)) return undefined
  const path = decodeSome(raw, UNRESERVED)
  if (path.includes('//') || DOTS.test(path)) return undefined
  return { path, compared: decodeSome(path, SEGMENT_CHARACTER), query }
}

function originForm(target: string): string {
  const authority = /^https?:\/\/[^/?#]*/i.exec(target)?.[0]
  if (authority === undefined) return target
  const rest = target.slice(authority.length)
  return rest.startsWith('/') ? rest : `/${rest}`
}

function decodable(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}

function decodeSome(path: string, which: RegExp): string {
  return path.replace(/%[\da-f]{2}/gi, (code) => {
    const character = String.fromCharCode(Number.parseInt(code.slice(1), 16))
    return which.test(character) ? character : code.toUpperCase()
  })
}
