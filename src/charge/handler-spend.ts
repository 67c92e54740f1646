import { type RpcPlan, rpcName } from './rpc-plan.ts'

/**
 * Makes sure that the handler of an RPC spends only what the category table gives it (RATE-011).
 * @throws Error naming the RPC, the category and how to declare it, when the RPC does not declare it `by_handler`.
 */
export function checkHandlerSpend({ method, free, charges }: RpcPlan, category: string): void {
  if (charges.some((charge) => charge.byHandler && charge.category === category)) return
  const name = JSON.stringify(category)
  throw new Error(
    `the handler of ${rpcName(method)} cannot spend category ${name}, which its RPC does not declare: declare it by ` +
      `(allowance.v1.charge) = { category: ${name} by_handler: true } in the .proto, or by ` +
      `{ category: ${name}, byHandler: true } in the option charges${free ? '; the RPC is free now, which it cannot be beside' : ''}`,
  )
}
