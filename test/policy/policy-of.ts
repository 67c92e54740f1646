import { type Caller, normalizeCaller } from '../../src/caller/caller.ts'
import type { Limit } from '../../src/limit/limit.ts'
import type { RateLimitsOptions } from '../../src/policy/options.ts'
import { createPolicy, type Policy } from '../../src/policy/policy.ts'
import { parseRateLimits } from '../../src/policy/rate-limits.ts'

// the spec's default limits table, written down a second time
export const table: Readonly<Record<string, Limit[]>> = {
  request: [per(6000, 60), per(200000, 3600)],
  publish: [per(1000, 60), per(20000, 3600)],
  identity_update: [per(10, 60), per(100, 3600)],
  chain_verify: [per(200, 60), per(2000, 3600)],
  push: [per(2000, 60), per(20000, 3600)],
  upload: [per(120, 60), per(2000, 3600)],
  stream_rent: [per(120, 60)],
}

export function per(count: number, windowSeconds: number): Limit {
  return { count, windowSeconds }
}

export function policyOf(rateLimits?: RateLimitsOptions): Policy {
  return createPolicy(parseRateLimits(rateLimits))
}

export function limitsFor(policy: Policy, written: Caller, category: string): readonly Limit[] | undefined {
  const caller = normalizeCaller(written)
  return policy.limitsFor(caller)[policy.categoryId(category)]
}
