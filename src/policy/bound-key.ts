import { chargedAddress, fullAddress } from '../caller/address.ts'
import type { Caller } from '../caller/caller.ts'
import { callerKey } from '../caller/key.ts'
import type { Target } from './target.ts'

/** What bounds go by, beside the caller itself; of the identity that `identify` returns. */
export interface Attributes {
  /** Whoever it is that the caller acts for. */
  readonly user?: string | undefined
  /** What names the token that the caller has shown; never the token itself. */
  readonly token?: string | undefined
  /** What the user belongs to. */
  readonly organisation?: string | undefined
  /** What `appliesTo.roles` asks for. */
  readonly roles?: readonly string[] | undefined
}

/** The attributes of an identity, copied. */
export function attributesOf(identity: Attributes | null | undefined): Attributes {
  if (identity == null) return NONE
  const { user, token, organisation, roles } = identity
  for (const [key, value] of Object.entries({ user, token, organisation })) {
    if (value !== undefined && typeof value !== 'string') {
      throw new TypeError(`identity.${key}: must be a string or absent, got a value of type ${typeof value}`)
    }
  }
  if (roles === undefined) return { user, token, organisation }
  if (!Array.isArray(roles) || !roles.every((role) => typeof role === 'string')) {
    throw new TypeError('identity.roles: must be a list of strings or absent')
  }
  return { user, token, organisation, roles: [...roles] }
}

const NONE: Attributes = Object.freeze({})

/** Where a spend comes from, which is known without an identity. */
export interface Origin {
  /** The client address, in full, however it is spelled; or `unix`. */
  readonly address?: string | undefined
  /** The route that was taken. */
  readonly route?: string | undefined
  /** What bounds that are functions are given. */
  readonly request?: unknown
}

/** Who a spend is charged to. */
export interface Identified {
  /** As `normalizeCaller` returns it. */
  readonly caller: Caller
  readonly attributes: Attributes
}

/** A bound or a hold. */
export interface NamedTarget extends Target<unknown> {
  readonly name: string
}

/**
 * The key that a bound counts a spend under. undefined: the bound is not about it.
 * @param who undefined: it is not known yet, and the bound does not need it.
 * @throws TypeError when the bound goes by something that is not known; whatever a function of the bound throws.
 */
export function boundKey(bound: NamedTarget, origin: Origin, who: Identified | undefined): string | undefined {
  if (!applies(bound, origin, who)) return undefined
  const { per } = bound
  if (typeof per === 'function') {
    const key: unknown = per(requestOf(bound, origin))
    if (key === undefined || typeof key === 'string') return key
    throw new TypeError(
      `bound ${JSON.stringify(bound.name)}: per must return a string or nothing, returned a value of type ${typeof key}`,
    )
  }
  switch (per) {
    case 'everyone':
      return ''
    case 'route':
      return origin.route ?? unknown(bound, 'route')
    case 'address':
      return fullAddress(addressOf(bound, origin, who)) ?? unknown(bound, 'address')
    case 'subnet':
      return chargedAddress(subnetOf(bound, origin, who)) ?? unknown(bound, 'address')
    case 'caller':
      return callerKey(known(bound, who).caller)
    default: {
      // Who has none is counted as the caller, and is never taken for one who has.
      const value = known(bound, who).attributes[per]
      return value === undefined ? `c${callerKey(known(bound, who).caller)}` : `v${value}`
    }
  }
}

function applies(bound: NamedTarget, origin: Origin, who: Identified | undefined): boolean {
  const { appliesTo } = bound
  if (appliesTo === undefined) return true
  if (typeof appliesTo === 'function') {
    const answer: unknown = appliesTo(requestOf(bound, origin))
    if (typeof answer === 'boolean') return answer
    // Taken for no, whatever is nearly true would switch the limit off.
    throw new TypeError(
      `bound ${JSON.stringify(bound.name)}: appliesTo must return true or false, returned a value of type ${typeof answer}`,
    )
  }
  const { caller, attributes } = known(bound, who)
  const { roles, authTypes } = appliesTo
  if (authTypes.length > 0 && !authTypes.includes(caller.type)) return false
  return roles.length === 0 || attributes.roles?.some((role) => roles.includes(role)) === true
}

function addressOf(bound: NamedTarget, origin: Origin, who: Identified | undefined): string {
  const address = subnetOf(bound, origin, who)
  // Of an IPv6 address, a caller keeps only the /64.
  return origin.address === undefined && address.includes(':') ? unknown(bound, 'address') : address
}

function subnetOf(bound: NamedTarget, { address }: Origin, who: Identified | undefined): string {
  if (address !== undefined) return address
  return who?.caller.type === 'ip' ? who.caller.address : unknown(bound, 'address')
}

function requestOf(bound: NamedTarget, { request }: Origin): unknown {
  return request ?? unknown(bound, 'request')
}

function known(bound: NamedTarget, who: Identified | undefined): Identified {
  if (who === undefined) throw new TypeError(`bound ${JSON.stringify(bound.name)} needs an identity`)
  return who
}

function unknown(bound: NamedTarget, what: string): never {
  throw new TypeError(
    `bound ${JSON.stringify(bound.name)} goes by the ${what}, which is not known here: limiter.resolve(caller, { ${what} })`,
  )
}
