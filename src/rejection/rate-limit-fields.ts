import { type BareItem, type Item, serializeList } from 'structured-headers'
import { availableUnits, bindingPolicy, effectiveWindowSeconds, type QuotaPolicy } from './quota-policy.ts'

/** `draft-11`: `RateLimit` and `RateLimit-Policy`; `legacy`: `RateLimit-Limit`, `-Remaining` and `-Reset`. */
export type FieldStyle = 'draft-11' | 'legacy'

/**
 * The header fields that tell a client what it has left: of the policy that binds, and by draft 11 also what all of them
 * are. On a refusal they say that nothing is left, for as long as `Retry-After` says.
 *
 * `draft-11` (draft-ietf-httpapi-ratelimit-headers-11, sections 3 and 4): two lists of Strings with Integer parameters,
 * `RateLimit-Policy: "caller-60";q=60;w=60, "caller-3600";q=100;w=3600` and `RateLimit: "caller-3600";r=0;t=12`. Partition keys
 * are left out: they would tell by what callers are told apart.
 *
 * `legacy` (the drafts up to 06): one number each, `RateLimit-Reset` in seconds from now.
 *
 * `w`, and `t` or `RateLimit-Reset`, are absent where there is no window, or nobody can say.
 * @returns By lower-case name. Empty if there is no policy.
 */
export function rateLimitFields(policies: readonly QuotaPolicy[], style: FieldStyle): Record<string, string> {
  const binding = bindingPolicy(policies)
  if (binding === undefined) return {}
  const available = availableUnits(binding)
  const seconds = effectiveWindowSeconds(binding)
  if (style === 'legacy') {
    return {
      'ratelimit-limit': String(binding.count),
      'ratelimit-remaining': String(available),
      ...(seconds !== undefined && { 'ratelimit-reset': String(seconds) }),
    }
  }
  return {
    'ratelimit-policy': serializeList(
      policies.map(({ name, count, unit, windowSeconds }) => item(name, { q: count, qu: unit, w: windowSeconds })),
    ),
    ratelimit: serializeList([item(binding.name, { r: available, t: seconds })]),
  }
}

function item(name: string, parameters: Record<string, BareItem | undefined>): Item {
  const given = Object.entries(parameters).filter((entry): entry is [string, BareItem] => entry[1] !== undefined)
  return [name, new Map(given)]
}
