import type { Caller } from '../caller/caller.ts'
import type { BlockedLimit, EpochLimit, TimedLimit } from '../limit/limit.ts'

/**
 * A limit as it is written. Where `windowSeconds` stands, `window` may say the same as a duration; parsed, it is always
 * `windowSeconds`. In a config file: `window`, `window_seconds`.
 */
export type LimitOptions = TimedLimitOptions | EpochLimit | BlockedLimit

/** A limit on a window, as it is written. */
export type TimedLimitOptions = Omit<TimedLimit, 'windowSeconds'> &
  (
    | {
        /**
         * Length of the window in seconds: a caller that spent its whole count has all of it back after this long. A whole
         * number from 1 to 8,640,000 (100 days). No default. Not beside `window`.
         */
        readonly windowSeconds: number
        readonly window?: undefined
      }
    | {
        /**
         * The same as a duration that `parseDuration` reads: `60`, `"PT1M"`, `"15min"`, `"1h 20min"`, from a second to 100
         * days. Not beside `windowSeconds`.
         */
        readonly window: number | string
        readonly windowSeconds?: undefined
      }
  )

/**
 * The limits of one category. Each list holds up to three limits on different windows, and a spend must fit all of
 * them; an empty list admits every spend. A list for an auth type replaces `default` for its callers, it does not add
 * to it (RATE-025).
 */
export interface CategoryLimitsOptions {
  /**
   * Limits of every caller that nothing more specific names. Default: those of the default limits table. Required for
   * a category of one's own, which has no row there.
   */
  readonly default?: readonly LimitOptions[] | undefined
  /** Limits of callers that an API key names. Default: `default`. */
  readonly api_key?: readonly LimitOptions[] | undefined
  /** Limits of callers that a JWT names. Default: `default`. */
  readonly jwt?: readonly LimitOptions[] | undefined
  /** Limits of callers known only by their address. Default: `default`. */
  readonly ip?: readonly LimitOptions[] | undefined
}

/** Limits for one caller, which replace every other limit in the categories named (RATE-025). */
export interface OverrideOptions {
  /**
   * Whom the override is for. An IPv6 address stands for the whole /64 it belongs to, an IPv4-mapped one for its IPv4
   * address. One caller may have one override only.
   */
  readonly caller: Caller
  /**
   * Limits by category: up to three on different windows, an empty list admits every spend. Must name at least one
   * category, and only built-in ones or ones declared in `rateLimits.categories`. In a category that is not named here
   * the caller has the limits it would have without the override.
   */
  readonly categories: { readonly [category: string]: readonly LimitOptions[] }
}

/**
 * The rate limits, checked once, when the plugin is registered or the limiter created: anything unknown, out of range
 * or contradictory throws an `AllowanceOptionsError` (code `ALLOWANCE_OPTIONS`) that lists every problem with its path.
 * Each key may also be in the spelling of a config file (`trusted_proxies`, `max_memory_mib`, `window_seconds`), but not
 * in both.
 */
export interface RateLimitsOptions {
  /** `false`: nothing is ever denied (RATE-012), the options are still checked. Default: `true`. */
  readonly enabled?: boolean | undefined
  /**
   * Proxies whose X-Forwarded-For entries are believed (RATE-002): networks in CIDR form (`10.0.0.0/8`, `fd00::/8`),
   * single addresses, or `unix` for peers on a Unix socket, which have no address. Default: none, so that a caller
   * without a credential is charged to the address its connection comes from; behind a proxy that is not listed, all
   * of those share one allowance.
   */
  readonly trustedProxies?: readonly string[] | undefined
  /**
   * Memory for what callers have spent, in MiB, allocated once at start. When it is full, the caller that has earned
   * back its spends soonest is forgotten; nobody is denied for it (RATE-050, RATE-051). A whole number from 1 to 4096.
   * Default: 64.
   */
  readonly maxMemoryMib?: number | undefined
  /**
   * The part of `maxMemoryMib` that is kept for sets of bounds that the app makes itself, by `limiter.bounds()`. A whole
   * number from 0 to `maxMemoryMib`. Default: 0, they can be made before the first spend only.
   */
  readonly boundsMemoryMib?: number | undefined
  /**
   * Limits by category. `request`, `publish`, `identity_update`, `chain_verify`, `push`, `upload` and `stream_rent` are
   * built in, and those not named here keep their default limits. Naming any other declares a category of one's own.
   * A name has 1 to 64 characters of `a-z`, `0-9`, `_`, `.` and `-`; it is sent to clients in rejections and used as a
   * label in metrics. Default: none, the built-in categories with the default limits table.
   */
  readonly categories?: { readonly [category: string]: CategoryLimitsOptions } | undefined
  /** Limits for single callers, at most one entry for each. Default: none. */
  readonly overrides?: readonly OverrideOptions[] | undefined
}
