/** Takes a problem found in a configuration file: where, and what must be there. */
export type Report = (path: string, problem: string) => void

export type Table = Record<string, unknown>

export function isTable(value: unknown): value is Table {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
}

/** Reports each key of `rest`, what is left of a table when its known keys are taken out. */
export function unknownKeys(path: string, rest: Table, known: readonly string[], report: Report): void {
  for (const key of Object.keys(rest)) report(join(path, key), `unknown key; allowed: ${known.join(', ')}`)
}

/** A path with one more key, quoted where TOML would quote it. */
export function join(path: string, key: string): string {
  const bare = /^[\w-]+$/.test(key) ? key : JSON.stringify(key)
  return path === '' ? bare : `${path}.${bare}`
}

/** What a message may say of a value that is a secret, or may be one that stands where it should not. */
export function hide(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (typeof value === 'string') return `a text of ${Buffer.byteLength(value)} bytes`
  if (Array.isArray(value)) return 'an array'
  return isTable(value) ? 'a table' : 'something else'
}
