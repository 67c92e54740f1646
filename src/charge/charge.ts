/** One charge in TypeScript, the same as the message `allowance.v1.Charge` in a .proto. */
export type Charge = {
  /** The category that is spent, as the limits name it. */
  readonly category: string
  /**
   * Count path: what to count in the request message, in the field names of the .proto, joined by dots, such as
   * `envelopes.identity_update`. Default: the charge does not depend on the message.
   */
  readonly count?: string | undefined
  /** The least that is counted: a whole number from 0 up to 2³²−1. Default 0. Needs `count`. */
  readonly atLeast?: number | undefined
  /** Units for each value counted, or for the whole call without `count`: from 1 up to 2³²−1. Default 1. */
  readonly units?: number | undefined
  /**
   * True: the handler spends it itself, and could not without this. Cannot stand beside `count`, `atLeast` or `units`.
   * Default false.
   */
  readonly byHandler?: boolean | undefined
}

/** What an RPC costs: nothing, or one unit of `request` and then these charges in this order, which may be none. */
export type RpcCharges = { readonly free: true } | { readonly charges: readonly Charge[] }
