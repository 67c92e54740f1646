import { type RpcPlan, rpcName } from './rpc-plan.ts'

/** What the handler of an RPC may spend. */
export interface HandlerSpends {
  readonly plan: RpcPlan
  /** The numbers of the categories that its RPC declares `by_handler`, by name. */
  readonly byHandler: ReadonlyMap<string, number>
}

/** The error for a handler that spends a category that its RPC does not declare `by_handler` (RATE-011). It says how to declare it. */
export function undeclaredSpend({ method, free }: RpcPlan, category: string): Error {
  const name = JSON.stringify(category)
  return new Error(
    `the handler of ${rpcName(method)} cannot spend category ${name}, which its RPC does not declare: declare it by ` +
      `(allowance.v1.charge) = { category: ${name} by_handler: true } in the .proto, or by ` +
      `{ category: ${name}, byHandler: true } in the option charges${free ? '; the RPC is free now, which it cannot be beside' : ''}`,
  )
}
