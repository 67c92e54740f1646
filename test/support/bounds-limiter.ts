import {
  type BoundOptions,
  createLimiter,
  type HoldOptions,
  type LimiterOptions,
  manualClock,
} from '../../src/index.ts'

/** A request as bounds that are functions see it in these tests. */
export interface Req {
  readonly sender?: string
}

export const perMinute = (count: number) => [{ count, windowSeconds: 60 }]

export interface Bounding {
  readonly bounds?: readonly BoundOptions<Req>[]
  readonly holds?: readonly HoldOptions<Req>[]
  readonly rateLimits?: LimiterOptions['rateLimits']
}

/** A limiter where only bounds limit the categories `request` and `work`, unless told otherwise. */
export const boundsLimiter = ({ bounds, holds, rateLimits }: Bounding) => {
  const clock = manualClock()
  const categories = { request: { default: [] }, work: { default: [] }, ...rateLimits?.categories }
  const limiter = createLimiter({ rateLimits: { maxMemoryMib: 8, ...rateLimits, categories }, bounds, holds, clock })
  return { clock, limiter, advance: (seconds: number) => clock.advance(BigInt(Math.round(seconds * 1e9))) }
}
