import fc from 'fast-check'
import type { QuotaPolicy } from '../../src/rejection/quota-policy.ts'

/** A minute of 60 units that the request did not exceed. */
export const minute: QuotaPolicy = { name: 'caller-60', count: 60, windowSeconds: 60, remaining: 19, resetMs: 1000 }

/** An hour of 100 units that is used up and has a unit back in 12 s. */
export const hour: QuotaPolicy = {
  name: 'caller-3600',
  count: 100,
  windowSeconds: 3600,
  remaining: 0,
  resetMs: 12_000,
}

export function exceeded(policy: QuotaPolicy, retryDelayMs: number | null): QuotaPolicy {
  return { ...policy, retryDelayMs }
}

const delayMs = fc.option(fc.oneof(fc.nat(10_000), fc.maxSafeNat()))

/** Policies of all kinds, what they say of the state also out of range. */
export const quotaPolicies: fc.Arbitrary<QuotaPolicy[]> = fc.uniqueArray(
  fc.record({
    name: fc.stringMatching(/^[a-z0-9_.-]{1,64}$/),
    count: fc.oneof(fc.nat(3), fc.nat(1_000_000_000)),
    windowSeconds: fc.option(fc.integer({ min: 1, max: 8_640_000 }), { nil: undefined }),
    remaining: fc.oneof(fc.integer({ min: -5, max: 5 }), fc.maxSafeInteger()),
    resetMs: delayMs,
    retryDelayMs: fc.option(delayMs, { nil: undefined }),
    unit: fc.constantFrom(undefined, 'concurrent-requests' as const),
  }),
  { minLength: 1, maxLength: 6, selector: ({ name }) => name },
)
