import type { FastifyRequest, RegisterOptions } from 'fastify'
import { z } from 'zod'
import type { ChargesOptionEntry } from './charge/charges-option.ts'
import type { Clock } from './clock/clock.ts'
import type { RenderRejection, RouteAllowance } from './http/route-terms.ts'
import { MAX_WINDOW_SECONDS } from './limit/ranges.ts'
import { Limiter } from './limiter/limiter.ts'
import type { BoundOptions as AnyBoundOptions, HoldOptions as AnyHoldOptions } from './policy/bound-options.ts'
import { clockOption } from './policy/clock-option.ts'
import { flag, mustBe, oneOf, optionsObject, parseOptions, wholeNumber } from './policy/option-schema.ts'
import type { RateLimitsOptions } from './policy/options.ts'
import { AllowanceOptionsError } from './policy/options-error.ts'
import type { FieldStyle } from './rejection/rate-limit-fields.ts'
import type { Identify, OnDenied } from './request/allowance.ts'
import { defaultRentOf, type RentOf } from './stream/rent.ts'

/** What an open stream pays, in advance for each period that it is open. */
export interface StreamsOptions {
  /** Seconds of a period: a whole number from 1 to 8,640,000 (100 days). Default 60. */
  periodSeconds?: number | undefined
  /**
   * Units of rent for a period, for a number of topics: a whole number from 0 to 2⁵³ − 1, always the same for the same
   * number. Default: `1 + ceil(topics / 1000)`. What it throws, or a RangeError for another result, is thrown by
   * `openStream` and `update`.
   */
  rentOf?: ((topics: number) => number) | undefined
  /** The category that rent is spent in; must be declared. Default: `stream_rent`. */
  rentCategory?: string | undefined
  /**
   * How many streams may be open at a time, of all callers: 0 … 2⁵³ − 1. One more is refused as `unavailable`, uncharged.
   * Each takes about 560 bytes of the plugin. Default 200,000.
   */
  maxOpen?: number | undefined
}

/** A bound: limits that are counted per something, and apply to some or all. `Request`: what its functions are given. */
export type BoundOptions<Request = FastifyRequest> = AnyBoundOptions<Request>

/** A hold: how many of something may be open at a time. `Request`: what its functions are given. */
export type HoldOptions<Request = FastifyRequest> = AnyHoldOptions<Request>

/** The header fields by which plain routes tell what is left. */
export interface RateLimitHeadersOptions {
  /**
   * `draft-11`: `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-11); `legacy`: `RateLimit-Limit`,
   * `-Remaining` and `-Reset` of its older versions; `none`. Default `draft-11`.
   */
  fields?: FieldStyle | 'none' | undefined
  /** Whether they are on every response of a route that costs something, and not only on refusals. Default false. */
  always?: boolean | undefined
}

/** Options of the plugin. All are checked when it is registered. */
export interface AllowanceOptions {
  /**
   * The `domain` of the ErrorInfo of every rejection: who says it, e.g. `example.com`. Clients act on theirs only. Visible
   * ASCII characters. Required.
   */
  domain: string

  /** Limits, by category and by caller. Default: the built-in categories and their limits. Not beside `limiter`. */
  rateLimits?: RateLimitsOptions | undefined

  /** A limiter made by `createLimiter`, when several servers share one, or when it is used elsewhere too. */
  limiter?: Limiter | undefined

  /**
   * Who a request is from. Returns an identity, or nothing, for a request that is charged to its client address; throws
   * when the credentials are no good: a ConnectError goes out in the request's own protocol, anything else to Fastify,
   * and nothing is charged but bounds that need no identity. Called at most once for a request: for RPCs that are charged,
   * before their body is read, and for plain routes where a limit or a bound asks for it. Default: everybody is charged to
   * the client address.
   */
  identify?: Identify | undefined

  /**
   * Called for every denial, to count or log it. `denial` says which category and limit, not who; for that there is
   * `request.caller`, which belongs in no log or metric. May be async; what it throws is logged, and changes nothing.
   * Default: none.
   */
  onDenied?: OnDenied | undefined

  /**
   * What RPCs cost whose .proto one does not own: `[{ method, charges: [{ category, count }] }, { service, free: true }]`.
   * Stands in for the options of the .proto.
   */
  charges?: readonly ChargesOptionEntry[] | undefined

  /**
   * Limits per something else than the caller, which a spend must fit as well: per address, for everyone, … Not beside
   * `limiter`, which has its own. Default: none.
   */
  bounds?: readonly BoundOptions[] | undefined

  /** What can be held with `request.hold` or a route's `holds`, and how many of it. Not beside `limiter`. Default: none. */
  holds?: readonly HoldOptions[] | undefined

  /**
   * What plain HTTP routes cost that are registered after the plugin, in its scope or below, and what bounds them; a route's own
   * `config.allowance` goes over it, key by key. Default: plain routes cost nothing.
   */
  routes?: RouteAllowance | undefined

  /** The same for requests that no route takes, of whatever method. Preflights cost nothing. Default: they cost nothing. */
  notFound?: RouteAllowance | undefined

  /** Which header fields plain routes answer with. Default: those of the draft, on refusals only. */
  rateLimitHeaders?: RateLimitHeadersOptions | undefined

  /**
   * Returns the body of a refusal in a plain route, of whatever kind Fastify sends; the reply has its status 429 and its
   * header fields, and may be changed. May be async. When it throws, that is logged and the default is sent. Default:
   * `application/problem+json`.
   */
  renderRejection?: RenderRejection | undefined

  /**
   * How many instances of the app run side by side: 1 … 10⁶. Each has limits of its own, of which a warning tells at start where
   * there are more than one. Default 1.
   */
  instances?: number | undefined

  /** What open streams pay. Default: those of the spec, `1 + ceil(topics / 1000)` units of `stream_rent` for each minute. */
  streams?: StreamsOptions | undefined

  /** Where the time comes from. Default: `systemClock`. Not beside `limiter`, which has its own. */
  clock?: Clock | undefined

  /**
   * Bytes of a refused request's body that are read and thrown away before it is answered, so that its connection stays in
   * use. What is longer is cut off after the answer: the stream on HTTP/2, and on HTTP/1.1 the connection, of which at most
   * as much again is read until the client has the answer. 0 … 2⁵³ − 1. Default 1 MiB.
   */
  maxDiscardBytes?: number | undefined

  /**
   * Milliseconds that a refused client is waited for at most, before the answer to send its body and after it to take it. When
   * the server closes, it waits for no body, and half a second for an answer to be taken. 1 … 2³¹ − 1. Default 10,000.
   */
  discardTimeoutMs?: number | undefined
}

/** What gRPC and HTTP carry unchanged: no white space, control characters or halves of characters. */
const DOMAIN = /^[\x21-\x7e]+$/

const schema = optionsObject({
  domain: z.custom<string>((value) => typeof value === 'string' && DOMAIN.test(value), {
    error: mustBe('a name such as "example.com", of visible ASCII characters'),
  }),
  rateLimits: z.unknown().optional(),
  limiter: z.instanceof(Limiter, { error: mustBe('a limiter made by createLimiter') }).optional(),
  identify: z.custom<Identify>(isFunction, { error: mustBe('a function of the request') }).optional(),
  onDenied: z.custom<OnDenied>(isFunction, { error: mustBe('a function of the denial and the request') }).optional(),
  charges: z.unknown().optional(),
  bounds: z.unknown().optional(),
  holds: z.unknown().optional(),
  routes: z.unknown().optional(),
  notFound: z.unknown().optional(),
  rateLimitHeaders: optionsObject({
    fields: oneOf(['draft-11', 'legacy', 'none']).default('draft-11'),
    always: flag().default(false),
  }).prefault({}),
  renderRejection: z
    .custom<RenderRejection>(isFunction, { error: mustBe('a function of the denial, the request and the reply') })
    .optional(),
  instances: wholeNumber(1, 1_000_000).default(1),
  streams: optionsObject({
    periodSeconds: wholeNumber(1, MAX_WINDOW_SECONDS).default(60),
    rentOf: z
      .custom<RentOf>(isFunction, { error: mustBe('a function of the number of topics') })
      .default(() => defaultRentOf),
    rentCategory: z.string({ error: mustBe('the name of a category') }).default('stream_rent'),
    maxOpen: wholeNumber(0, Number.MAX_SAFE_INTEGER).default(200_000),
  }).prefault({}),
  clock: clockOption().optional(),
  maxDiscardBytes: wholeNumber(0, Number.MAX_SAFE_INTEGER).default(1024 * 1024),
  discardTimeoutMs: wholeNumber(1, 2 ** 31 - 1).default(10_000),
})

/**
 * Checks the plugin's own options. `rateLimits` and `charges` have their own checks.
 * @throws AllowanceOptionsError with every mistake.
 */
export function parseAllowanceOptions(options: unknown) {
  const parsed = parseOptions(schema, ownOptions(options), 'options')
  if (parsed.limiter !== undefined) {
    for (const key of ['rateLimits', 'bounds', 'holds', 'clock'] as const) {
      if (parsed[key] === undefined) continue
      throw new AllowanceOptionsError([
        { path: `options.${key}`, message: 'cannot stand beside limiter, which has its own' },
      ])
    }
  }
  return parsed
}

/** `app.register` hands a plugin its own options too. */
function ownOptions(options: unknown): unknown {
  if (typeof options !== 'object' || options === null) return options
  const { prefix: _prefix, logLevel: _logLevel, logSerializers: _logSerializers, ...own } = options as RegisterOptions
  return own
}

/**
 * Checks the options of `app.allowance.connect`.
 * @throws AllowanceOptionsError when there are no routes.
 */
export function checkConnectOptions(options: { readonly routes?: unknown } | null | undefined): void {
  const routes = options?.routes
  if (isFunction(routes)) return
  throw new AllowanceOptionsError([
    { path: 'connect.routes', message: mustBe('a function of the router')({ input: routes }) },
  ])
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function'
}
