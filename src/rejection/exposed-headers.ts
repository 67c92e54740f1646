const FIELDS = [
  'Retry-After',
  'RateLimit',
  'RateLimit-Policy',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
]

type ResponseHeaders = Readonly<Record<string, number | string | readonly string[] | undefined>>

/**
 * What `access-control-expose-headers` must say so that a page of another origin can read `Retry-After` and the RateLimit
 * fields: what it says already, and those of them that the response has.
 * @param headers Of the response, by lower-case name: `reply.getHeaders()`, once all are set.
 * @returns undefined where nothing is to be added: it says so already, or no other origin may read the response at all.
 */
export function exposedHeaders(headers: ResponseHeaders): string | undefined {
  if (headers['access-control-allow-origin'] === undefined) return undefined
  const exposed = [headers['access-control-expose-headers'] ?? []].flat().join(', ')
  const names = new Set(exposed.split(',').map((name) => name.trim().toLowerCase()))
  // beside credentials it is a name like others (Fetch standard)
  if (names.has('*') && headers['access-control-allow-credentials'] !== 'true') return undefined
  const added = FIELDS.filter((name) => headers[name.toLowerCase()] !== undefined && !names.has(name.toLowerCase()))
  if (added.length === 0) return undefined
  return [exposed, ...added].filter((part) => part !== '').join(', ')
}
