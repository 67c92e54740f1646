import { bindingPolicy, effectiveWindowSeconds, isExceeded, type QuotaPolicy } from './quota-policy.ts'

export const PROBLEM_MEDIA_TYPE = 'application/problem+json'

/** A refusal as RFC 9457 has it, of the type that draft-ietf-httpapi-ratelimit-headers-11 defines in section 5.1. */
export interface QuotaExceeded {
  readonly type: 'https://iana.org/assignments/http-problem-types#quota-exceeded'
  readonly title: 'Quota Exceeded'
  readonly status: 429
  /** For people. Names what was exceeded, never who. */
  readonly detail: string
  /** Names of the policies that were exceeded, as in `RateLimit-Policy`, in their order. */
  readonly 'violated-policies': readonly string[]
}

/** The body of a refusal, of type `application/problem+json`. It says when to retry as `Retry-After` does. */
export function quotaExceeded(policies: readonly QuotaPolicy[]): QuotaExceeded {
  const exceeded = policies.filter(isExceeded)
  const names = exceeded.map(({ name }) => name)
  return {
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    title: 'Quota Exceeded',
    status: 429,
    detail: `Quota exceeded: ${names.join(', ')}. ${whenToRetry(exceeded)}`,
    'violated-policies': names,
  }
}

function whenToRetry(exceeded: readonly QuotaPolicy[]): string {
  if (exceeded.some(({ count }) => count === 0)) return 'Such requests are never admitted.'
  const binding = bindingPolicy(exceeded)
  const seconds = binding && effectiveWindowSeconds(binding)
  return seconds === undefined ? 'It cannot be said when to retry.' : `Retry in ${seconds} s.`
}
