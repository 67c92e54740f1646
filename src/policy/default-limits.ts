import type { Limit } from '../limit/limit.ts'

const MINUTE = 60
const HOUR = 3600

/**
 * The built-in categories, in the order of their ids, and the limits that apply where the options set none: the default
 * limits table of the spec's section 3.
 */
export const defaultLimits: ReadonlyMap<string, readonly Limit[]> = new Map([
  ['request', limits([6000, MINUTE], [200_000, HOUR])],
  ['publish', limits([1000, MINUTE], [20_000, HOUR])],
  ['identity_update', limits([10, MINUTE], [100, HOUR])],
  ['chain_verify', limits([200, MINUTE], [2000, HOUR])],
  ['push', limits([2000, MINUTE], [20_000, HOUR])],
  ['upload', limits([120, MINUTE], [2000, HOUR])],
  ['stream_rent', limits([120, MINUTE])],
])

function limits(...rows: readonly (readonly [count: number, windowSeconds: number])[]): readonly Limit[] {
  return Object.freeze(rows.map(([count, windowSeconds]) => Object.freeze({ count, windowSeconds })))
}
