import { chargedAddress } from './address.ts'

/**
 * Who a request is charged to (RATE-001).
 *
 * - `api_key`: the name of an API key, never the key itself.
 * - `jwt`: a user of one issuer, by the token's `iss` and `sub`. No `iss` and an empty `iss` are the same caller.
 * - `ip`: an address: IPv4, or any address of an IPv6 /64 for the whole /64 (RATE-003), or `unix` for peers without
 *   an address.
 */
export type Caller =
  | { readonly type: 'api_key'; readonly name: string }
  | { readonly type: 'jwt'; readonly iss?: string | undefined; readonly sub: string }
  | { readonly type: 'ip'; readonly address: string }

/** The form of a caller. */
export type AuthType = Caller['type']

/** Every auth type, in the order of the spec: the most specific first. */
export const authTypes: readonly AuthType[] = Object.freeze(['api_key', 'jwt', 'ip'] as const)

/**
 * The one form of a caller: a new frozen object with exactly the fields of its type, `iss` always there, `address`
 * as it is charged (RATE-003). Only the value's own properties are read, each once; others than those are dropped.
 * Normalizing a normalized caller gives an equal one.
 *
 * Every string is a name, an issuer or a subject, the empty string too.
 *
 * @throws TypeError naming the field and what is allowed; the message holds nothing of the value.
 */
export function normalizeCaller(value: unknown): Caller {
  return Object.freeze(readCaller(value))
}

/** The same for one that is used at once and then forgotten: not frozen, which takes longer than all else. */
export function readCaller(value: unknown): Caller {
  if (typeof value !== 'object' || value === null) {
    throw new TypeError(`caller: must be an object with a type (${allowedTypes}), got ${kindOf(value)}`)
  }
  const type = own(value, 'type')
  switch (type) {
    case 'api_key':
      return { type, name: text(value, 'name') }
    case 'jwt':
      return { type, iss: text(value, 'iss', ''), sub: text(value, 'sub') }
    case 'ip': {
      const address = chargedAddress(text(value, 'address'))
      if (address === undefined) throw new TypeError(`caller.address: must be ${allowedAddress}`)
      return { type, address }
    }
    default:
      throw new TypeError(`caller.type: must be ${allowedTypes}`)
  }
}

const allowedTypes = authTypes.map((type) => `'${type}'`).join(' or ')
const allowedAddress =
  "an IPv4 or IPv6 address without port, brackets or prefix length, or 'unix' for peers without an address"

function text(value: object, field: string, missing?: string): string {
  const found = own(value, field)
  if (typeof found === 'string') return found
  if (found === undefined && missing !== undefined) return missing
  throw new TypeError(
    `caller.${field}: must be a string${missing === undefined ? '' : ' or absent'}, got ${kindOf(found)}`,
  )
}

function own(value: object, field: string): unknown {
  return Object.hasOwn(value, field) ? (value as Record<string, unknown>)[field] : undefined
}

function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing'
  return value === null ? 'null' : `a value of type ${typeof value}`
}
