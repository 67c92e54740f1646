import { retryAfterSeconds } from './retry-after.ts'

/** One limit that a request was charged against, as header fields and problems tell of it. */
export interface QuotaPolicy {
  /** ASCII, unique among the policies of a response: see `policyNames`. */
  readonly name: string
  /** Units, whole. 0: nothing is ever admitted. */
  readonly count: number
  /** Whole seconds, 1 or more. undefined: the limit has no window of time. */
  readonly windowSeconds: number | undefined
  /** Whole units that fit now. */
  readonly remaining: number
  /**
   * Whole ms until more than `remaining` fits (where that is not known: until everything does) if nothing else is spent.
   * null: it cannot be said. Means nothing while everything is left.
   */
  readonly resetMs: number | null
  /** Only of a limit that the request exceeded: whole ms until it fits. null: never, or it cannot be said. */
  readonly retryDelayMs?: number | null | undefined
  /** What is counted, of the units that the draft registers. Default: requests, or what they cost. */
  readonly unit?: 'content-bytes' | 'concurrent-requests' | undefined
}

/** Whether the request exceeded it. */
export function isExceeded({ retryDelayMs }: QuotaPolicy): boolean {
  return retryDelayMs !== undefined
}

/** What is left to use until the reset, 0 … count. 0 of what was exceeded, though something cheaper might still fit. */
export function availableUnits(policy: QuotaPolicy): number {
  return isExceeded(policy) ? 0 : Math.max(0, Math.min(policy.remaining, policy.count))
}

/**
 * The time, in whole seconds, 1 or more, for which the available units are all that should be used. Of an exceeded limit:
 * its `Retry-After`. Of others: until more is there, rounded up, and as long as the limit takes to give out so many units
 * at an even pace, so that who reads a rate out of both reads no more than the limit's own.
 * @returns undefined where it cannot be said.
 */
export function effectiveWindowSeconds(policy: QuotaPolicy): number | undefined {
  const { count, windowSeconds, resetMs, retryDelayMs } = policy
  if (retryDelayMs !== undefined) return retryDelayMs === null ? undefined : retryAfterSeconds(retryDelayMs)
  const available = availableUnits(policy)
  if (available === count) return windowSeconds
  if (resetMs === null) return undefined
  const paceSeconds = windowSeconds === undefined ? 0 : Math.ceil((available * windowSeconds) / count)
  return Math.max(retryAfterSeconds(resetMs), paceSeconds)
}

/**
 * The policy that binds: of those exceeded the one with the longest delay, with which `Retry-After` agrees; else the one
 * with the least units left, and of such the one that is longest without more. Of equals the first.
 * @returns undefined if there is none.
 */
export function bindingPolicy(policies: readonly QuotaPolicy[]): QuotaPolicy | undefined {
  return policies.toSorted(compareBinding)[0]
}

function compareBinding(a: QuotaPolicy, b: QuotaPolicy): number {
  return (
    Number(isExceeded(b)) - Number(isExceeded(a)) ||
    availableUnits(a) - availableUnits(b) ||
    longerFirst(a.retryDelayMs, b.retryDelayMs) ||
    longerFirst(effectiveWindowSeconds(a), effectiveWindowSeconds(b))
  )
}

/** What cannot be said counts as longest. */
function longerFirst(a: number | null | undefined, b: number | null | undefined): number {
  const [x, y] = [a ?? Infinity, b ?? Infinity]
  return x === y ? 0 : y - x
}
