/**
 * The path of a URL in its clean form: one slash between segments, and no segment `.` or `..`, spelled out or
 * percent-encoded. The query stays as it is. The result starts with one slash, and never names another host.
 * @param url As it stands in the request line, with or without an origin.
 */
export function cleanUrl(url: string): string {
  const [, path = '', query = ''] = /^(?:https?:\/\/[^/?#]*)?([^?#]*)(.*)$/is.exec(url)!
  const segments: string[] = []
  let slash = true
  for (const segment of path.split('/')) {
    const plain = segment.replace(/%2e/gi, '.')
    slash = segment === '' || plain === '.' || plain === '..'
    if (plain === '..') segments.pop()
    else if (!slash) segments.push(segment)
  }
  const cleaned = segments.length === 0 ? '/' : `/${segments.join('/')}${slash ? '/' : ''}`
  return `${cleaned}${query}`.replace(/[^\x21-\x7e]|\\/g, (character) => encodeLatin1(character))
}

/** Whether a router may look at this path: it is clean, and its percent-encoding can be decoded. */
export function isRoutable(url: string): boolean {
  return url.startsWith('/') && cleanUrl(url) === url && isDecodable(url)
}

function isDecodable(url: string): boolean {
  try {
    decodeURIComponent(url.replace(/[?#].*$/s, ''))
    return true
  } catch {
    return false
  }
}

/** Node reads the bytes of a URL as Latin-1. */
function encodeLatin1(character: string): string {
  return `%${(character.charCodeAt(0) & 0xff).toString(16).toUpperCase().padStart(2, '0')}`
}
