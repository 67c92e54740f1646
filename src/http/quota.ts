import type { Denial } from '../limiter/denial.ts'
import { policyNames } from '../rejection/policy-names.ts'
import type { QuotaPolicy } from '../rejection/quota-policy.ts'
import type { LeftUnits } from '../request/request-allowance.ts'

/**
 * What the header fields and the problem of a response tell of: every limit that the request was charged against, and the
 * hold that it was refused.
 * @param left What is left under these limits.
 */
export function quotaPolicies(left: readonly LeftUnits[], denial: Denial | undefined): QuotaPolicy[] {
  const refusedHold = denial?.limit.kind === 'hold' ? [{ ...denial, units: 0, moreInMs: null }] : []
  const rows = [...left, ...refusedHold]
  const names = policyNames(rows)
  return rows.map(({ bound, limit, units, moreInMs }, i) => {
    const exceeded = denial?.exceeded.find((one) => one.bound === bound && one.limit === limit)
    return {
      name: names[i]!,
      count: limit.kind === 'blocked' ? 0 : limit.count,
      windowSeconds: 'windowSeconds' in limit ? limit.windowSeconds : undefined,
      remaining: units,
      resetMs: moreInMs,
      ...(exceeded && { retryDelayMs: exceeded.retryDelayMs }),
      ...(limit.kind === 'hold' && { unit: 'concurrent-requests' as const }),
    }
  })
}
