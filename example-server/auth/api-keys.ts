import { createHash, timingSafeEqual } from 'node:crypto'

/** Finds the name of an API key, or undefined. Takes the same time for every key, whichever matches or none. */
export type ApiKeys = (key: string) => string | undefined

/** @param keys Each key by its name. The keys themselves are not kept, only their digests. */
export function createApiKeys(keys: ReadonlyMap<string, string>): ApiKeys {
  const known = [...keys].map(([name, key]) => ({ name, digest: digestOf(key) }))
  return (key) => {
    const digest = digestOf(key)
    let found: string | undefined
    for (const candidate of known) if (timingSafeEqual(candidate.digest, digest)) found = candidate.name
    return found
  }
}

function digestOf(key: string): Buffer {
  return createHash('sha256').update(key, 'utf8').digest()
}
