import type { AuthType } from '../caller/caller.ts'
import type { LimitOptions } from './options.ts'

/** What is counted apart, as a word. */
export const namedKeys = ['caller', 'address', 'subnet', 'user', 'token', 'organisation', 'route', 'everyone'] as const

export type NamedKey = (typeof namedKeys)[number]

/**
 * What is counted apart: the caller, the full client address, its `subnet` (the /64 of an IPv6 address, an IPv4 address as
 * it is), the user, token or organisation that `identify` names, the route, or everyone together; or a function of the
 * request that returns a key, or undefined where the request is not its business. Who has no user, token or organisation is
 * counted as their caller, apart from all users, tokens and organisations.
 */
export type Per<Request> = NamedKey | ((request: Request) => string | undefined)

/** Whom something is about, by identity. Both must fit where both are given. */
export interface AppliesToOptions {
  /** Those with any of these roles. Default, and when empty: whatever their roles. */
  readonly roles?: readonly string[] | undefined
  /** Those named by any of these. Default, and when empty: however they are named. */
  readonly authTypes?: readonly AuthType[] | undefined
}

/** What bounds and holds have in common: what they count apart, and whom they are about. */
export interface TargetOptions<Request> {
  /** What is counted apart. No default. */
  readonly per: Per<Request>
  /** Whom it is about: by identity, or by a function of the request. Default, and when empty: everybody. */
  readonly appliesTo?: AppliesToOptions | ((request: Request) => boolean) | undefined
  /**
   * Whether functions in `per` and `appliesTo` are called after `identify`, so that `request.caller` is known. Only beside
   * such a function: of everything else it is known. Default: `false`, they are called before it.
   */
  readonly needsIdentity?: boolean | undefined
}

/** Limits that are counted apart per something, and apply to some or all. In a config file, keys in snake_case. */
export interface BoundOptions<Request> extends TargetOptions<Request> {
  /**
   * What denials call it: 1 to 64 characters of `a-z`, `0-9`, `_`, `.` and `-`, unlike that of any other in the list. Not
   * `caller`, which the limits of `rateLimits` are called. It is sent to clients. No default.
   */
  readonly name: string
  /** The category whose spends it counts; must be declared. Default: `request`. */
  readonly category?: string | undefined
  /** Up to three limits on different windows; a spend must fit all of them. Empty: everything is admitted. No default. */
  readonly limits: readonly LimitOptions[]
  /**
   * How many keys are tracked at a time: a whole number from 1 to 1,000,000. Not beside `per: 'everyone'`, which has one.
   * Default: 10,000 where a limit is of another kind than `earned_back`; otherwise all that the fixed table has room for.
   */
  readonly maxKeys?: number | undefined
  /**
   * What becomes of a key that there is no room for: `forget` the one earned back soonest, or count all that are left over as
   * one (`share`). `share` needs `maxKeys`, or a limit of another kind than `earned_back`. Default: `forget`.
   */
  readonly overflow?: 'forget' | 'share' | undefined
}

/** How many of something may be open at a time. In a config file, keys in snake_case. */
export interface HoldOptions<Request> extends TargetOptions<Request> {
  /** What denials call it: as the name of a bound, unlike that of any other hold. No default. */
  readonly name: string
  /** How many may be open at a time for each key. A whole number from 1 to 1,000,000,000. No default. */
  readonly count: number
  /** What a refusal says, in seconds: a whole number from 1 to 8,640,000 (100 days). No default. */
  readonly retryDelaySeconds: number
  /**
   * How many keys are counted apart at a time, of those that hold something: a whole number from 1 to 1,000,000. Those beyond
   * are counted as one. Default: 10,000.
   */
  readonly maxKeys?: number | undefined
}
