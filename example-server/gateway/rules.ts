/** What a rule counts by. */
export const PER = ['route', 'user', 'token', 'organisation', 'address'] as const
export type Per = (typeof PER)[number]

/** Who a rule is about: whoever has any of the roles. */
export interface Access {
  roles: readonly string[]
}

/** So many requests in any window, for each of what it counts by. */
export interface Rule {
  per: Per
  /** Default: everybody. */
  only?: Access
  count: number
  /** As it was written: ISO 8601, from PT1S to P1D. */
  window: string
  windowSeconds: number
}

/** An operation of a route's OpenAPI file that carries rules of its own. */
export interface OperationRules {
  /** Its `operationId`, or method and path as the file has them: `GET /orders/{id}`. */
  operation: string
  rules: readonly Rule[]
}

/** Whether rules are there, and none of them is about everybody: whoever they do not describe is not bounded at all. */
export function boundSomeOnly(rules: readonly Rule[]): boolean {
  return rules.length > 0 && rules.every(({ only }) => only !== undefined)
}
