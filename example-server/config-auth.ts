import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { createLocalJWKSet, type JSONWebKeySet } from 'jose'
import type { AuthConfig } from './auth/identify.ts'
import type { Issuer } from './auth/tokens.ts'
import { hide, isTable, join, type Report, type Table, unknownKeys } from './config-values.ts'

/** The algorithms of a shared secret, each with the fewest bytes of the secret (RFC 7518, section 3.2). */
const SECRET_ALGS = new Map([
  ['HS256', 32],
  ['HS384', 48],
  ['HS512', 64],
])
const KEY_SET_ALGS = ['ES256', 'ES384', 'ES512', 'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'EdDSA']
const KEY_CHARACTERS = /^[\x21-\x7e]{8,256}$/

/**
 * Reads the table `auth`: `[auth.api_keys]`, name = key, and `[[auth.issuers]]`. Without it, every request is charged to
 * its address and every credential is refused.
 * @param folder What a `jwks_file` is relative to.
 */
export function parseAuth(auth: unknown, folder: string, report: Report): AuthConfig {
  const none = { apiKeys: new Map(), issuers: [] }
  if (auth === undefined) return none
  if (!isTable(auth)) {
    report('auth', `must be a table, got ${hide(auth)}`)
    return none
  }
  const { api_keys: apiKeys, issuers, ...others } = auth
  unknownKeys('auth', others, ['api_keys', 'issuers'], report)
  return { apiKeys: parseApiKeys(apiKeys, report), issuers: parseIssuers(issuers, folder, report) }
}

function parseApiKeys(value: unknown, report: Report): Map<string, string> {
  const keys = new Map<string, string>()
  if (value === undefined) return keys
  if (!isTable(value)) {
    report('auth.api_keys', `must be a table of keys by their names, got ${hide(value)}`)
    return keys
  }
  const paths = new Map<string, string>()
  for (const [i, [name, key]] of Object.entries(value).entries()) {
    // Name and key may have been swapped: what is as long as a key is not shown.
    const path = name.length >= 8 ? `auth.api_keys, entry ${i + 1}` : join('auth.api_keys', name)
    if (typeof key !== 'string' || !KEY_CHARACTERS.test(key)) {
      report(path, `must be a key of 8 to 256 visible ASCII characters, got ${hide(key)}`)
      continue
    }
    const twin = paths.get(key)
    if (twin !== undefined) report(path, `must be a key of its own, got the one of ${twin}`)
    paths.set(key, path)
    keys.set(name, key)
  }
  return keys
}

function parseIssuers(value: unknown, folder: string, report: Report): Issuer[] {
  if (value === undefined) return []
  if (!Array.isArray(value)) {
    report('auth.issuers', `must be an array of tables ([[auth.issuers]]), got ${hide(value)}`)
    return []
  }
  const seen = new Map<string, string>()
  return value.flatMap((entry: unknown, i) => {
    const path = `auth.issuers[${i}]`
    if (!isTable(entry)) {
      report(path, `must be a table, got ${hide(entry)}`)
      return []
    }
    const iss = text(entry, 'iss', path, report) ?? ''
    const twin = seen.get(iss)
    if (twin) report(`${path}.iss`, `must be an issuer of its own, got the one of ${twin} (none and "" are the same)`)
    seen.set(iss, path)
    return parseIssuer(entry, iss, path, folder, report)
  })
}

function parseIssuer(entry: Table, iss: string, path: string, folder: string, report: Report): Issuer[] {
  const { iss: _, secret, jwks_file: _file, alg: _alg, audience: _audience, ...others } = entry
  unknownKeys(path, others, ['iss', 'secret', 'jwks_file', 'alg', 'audience'], report)
  const audience = text(entry, 'audience', path, report)
  const file = text(entry, 'jwks_file', path, report)
  if ((secret === undefined) === (entry.jwks_file === undefined)) {
    report(path, `must have either secret or jwks_file, got ${secret === undefined ? 'neither' : 'both'}`)
    return []
  }
  const allowed = secret === undefined ? KEY_SET_ALGS : [...SECRET_ALGS.keys()]
  const { alg = allowed[0]! } = entry
  if (typeof alg !== 'string' || !allowed.includes(alg)) {
    report(`${path}.alg`, `must be one of ${allowed.join(', ')}, got ${hide(alg)}`)
    return []
  }
  const key =
    secret === undefined ? file && keySet(file, path, folder, report) : sharedSecret(secret, alg, path, report)
  return key ? [{ iss, alg, key, ...(audience !== undefined && { audience }) }] : []
}

function sharedSecret(secret: unknown, alg: string, path: string, report: Report): Issuer['key'] | undefined {
  const least = SECRET_ALGS.get(alg)!
  if (typeof secret === 'string' && Buffer.byteLength(secret) >= least) return { secret }
  report(`${path}.secret`, `must be a text of at least ${least} bytes for ${alg}, got ${hide(secret)}`)
  return undefined
}

function keySet(file: string, path: string, folder: string, report: Report): Issuer['key'] | undefined {
  const must = 'must be a file with a JSON Web Key Set of public keys'
  try {
    const jwks = JSON.parse(readFileSync(resolve(folder, file), 'utf8')) as JSONWebKeySet
    createLocalJWKSet(jwks)
    const secret = jwks.keys.some((key) => 'd' in key || 'k' in key)
    if (!secret && jwks.keys.length > 0) return { jwks }
    report(`${path}.jwks_file`, `${must}, got ${hide(file)} (${secret ? 'with a secret key' : 'without keys'})`)
  } catch (error) {
    const { code = 'no key set' } = error as NodeJS.ErrnoException
    report(`${path}.jwks_file`, `${must}, got ${hide(file)} (${code})`)
  }
  return undefined
}

function text(entry: Table, key: string, path: string, report: Report): string | undefined {
  const value = entry[key]
  if (value === undefined || typeof value === 'string') return value
  report(`${path}.${key}`, `must be a text, got ${hide(value)}`)
  return undefined
}
