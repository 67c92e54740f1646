export type { AuthType, Caller } from './caller/caller.ts'
export type { Charge, RpcCharges } from './charge/charge.ts'
export type { ChargesOptionEntry } from './charge/charges-option.ts'
export type { Clock } from './clock/clock.ts'
export type { ManualClock } from './clock/manual-clock.ts'
export { manualClock } from './clock/manual-clock.ts'
export { systemClock } from './clock/system-clock.ts'
export { allowanceOf } from './connect/context.ts'
export type { RenderRejection, RouteAllowance } from './http/route-terms.ts'
export type { BlockedLimit, CountedLimit, EpochLimit, HoldLimit, Limit, TimedLimit } from './limit/limit.ts'
export { BoundSet } from './limiter/bound-set.ts'
export type { Denial, ExceededLimit, HoldResult, RemainingUnits, ReserveResult, SpendResult } from './limiter/denial.ts'
export type { Limiter, LimiterOptions, ResolveContext, ResolvedCaller } from './limiter/limiter.ts'
export { createLimiter } from './limiter/limiter.ts'
export type { Hold, Reservation } from './limiter/reservation.ts'
export type { AppAllowance, ConnectOptions } from './plugin.ts'
export { default } from './plugin.ts'
export type {
  AllowanceOptions,
  BoundOptions,
  HoldOptions,
  RateLimitHeadersOptions,
  StreamsOptions,
} from './plugin-options.ts'
export type { AppliesToOptions, Per } from './policy/bound-options.ts'
export type { DurationBounds } from './policy/duration.ts'
export { parseDuration } from './policy/duration.ts'
export type {
  CategoryLimitsOptions,
  LimitOptions,
  OverrideOptions,
  RateLimitsOptions,
  TimedLimitOptions,
} from './policy/options.ts'
export type { OptionProblem } from './policy/options-error.ts'
export { AllowanceOptionsError } from './policy/options-error.ts'
export type { Allowance, Identify, Identity, OnDenied } from './request/allowance.ts'
export type { OpenStream, UpdateOptions } from './stream/open-stream.ts'
