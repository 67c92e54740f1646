import type { RpcPlan } from '../charge/rpc-plan.ts'
import type { ResolvedCaller } from '../limiter.ts'
import type { Allowance, RequestAllowance } from '../request-allowance.ts'

/** What the handler of an RPC can do: the same as its request, but it spends only what its RPC declares `by_handler`. */
export class HandlerAllowance implements Allowance {
  readonly request: RequestAllowance
  readonly #plan: () => RpcPlan

  /** @param plan What the RPC costs; only asked for when the handler spends. */
  constructor(request: RequestAllowance, plan: () => RpcPlan) {
    this.request = request
    this.#plan = plan
  }

  get caller(): ResolvedCaller | undefined {
    return this.request.caller
  }

  async spend(category: string, cost: number): Promise<void> {
    await this.request.spend(category, cost, this.#plan())
  }
}
