import type { Caller } from '../src/index.ts'
import { hide, isTable, type Report } from './config-values.ts'

/** Whose limits are their own, and in which categories. */
export interface OwnLimits {
  caller: Caller
  categories: readonly string[]
}

/**
 * Lists `[[rate_limits.overrides]]`, and reports each that no credential of `auth` can ever lead to: a slip of the pen, by
 * which somebody would have other limits than those written down. What is wrong in itself is the limiter's to report.
 */
export function readOverrides(rateLimits: unknown, auth: unknown, report: Report): OwnLimits[] {
  const entries = isTable(rateLimits) && Array.isArray(rateLimits.overrides) ? rateLimits.overrides : []
  const { api_keys: apiKeys, issuers } = isTable(auth) ? auth : {}
  const names = isTable(apiKeys) ? Object.keys(apiKeys) : []
  const known = Array.isArray(issuers) ? issuers.filter(isTable).map(({ iss = '' }) => iss) : []
  return entries.flatMap((entry: unknown, i) => {
    if (!isTable(entry) || !isTable(entry.caller) || !isTable(entry.categories)) return []
    const { type, name, iss = '' } = entry.caller
    const path = `rate_limits.overrides[${i}].caller`
    if (type === 'api_key' && typeof name === 'string' && !names.includes(name)) {
      report(`${path}.name`, `must be the name of a key in auth.api_keys (not the key), got ${hide(name)}`)
    }
    if (type === 'jwt' && typeof iss === 'string' && !known.includes(iss)) {
      report(`${path}.iss`, `must be the iss of one of auth.issuers, got ${iss === '' ? 'none' : hide(iss)}`)
    }
    return [{ caller: entry.caller as unknown as Caller, categories: Object.keys(entry.categories) }]
  })
}
