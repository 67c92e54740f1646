/** Nobody means more than this; the walk below is recursive. */
const MAX_DEPTH = 32

/**
 * The canonical text of a parsed JSON value (RFC 8785): names in the order of their UTF-16 units, no white space, numbers
 * and texts as JavaScript writes them. Nothing for what is nested deeper than 32, and for numbers too large for a double.
 */
export function canonicalJson(value: unknown, depth = 0): string | undefined {
  if (typeof value === 'number' && !Number.isFinite(value)) return undefined
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (depth === MAX_DEPTH) return undefined
  const parts = Array.isArray(value)
    ? value.map((item) => canonicalJson(item, depth + 1))
    : // Not by way of another object, which would put names that look like indexes first.
      Object.entries(value)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, member]) => {
          const text = canonicalJson(member, depth + 1)
          return text && `${JSON.stringify(name)}:${text}`
        })
  if (parts.includes(undefined)) return undefined
  return Array.isArray(value) ? `[${parts.join(',')}]` : `{${parts.join(',')}}`
}

/** Whether an object somewhere in a JSON text has a name twice; parsing keeps only the last. */
export function hasNameTwice(text: string, canonical: string): boolean {
  return countTexts(text) !== countTexts(canonical)
}

function countTexts(json: string): number {
  return json.match(/"(?:[^"\\]|\\.)*"/g)?.length ?? 0
}
