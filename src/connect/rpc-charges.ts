import type { DescMethod } from '@bufbuild/protobuf'
import type { RpcCharges } from '../charge/charge.ts'
import type { PlannedCharge, RpcPlan } from '../charge/rpc-plan.ts'
import { planRpc, rpcName } from '../charge/rpc-plan.ts'
import type { Limiter } from '../limiter.ts'

/** A charge that the plugin spends, with the number of its category. */
export interface NumberedCharge {
  readonly charge: PlannedCharge
  readonly category: number
}

/** What the plugin spends on one RPC, ready for use. */
export interface RpcCharging {
  readonly plan: RpcPlan
  /** The charges that the plugin spends once the message is there, in order; those of the handler are left out. */
  readonly charges: readonly NumberedCharge[]
}

/**
 * Plans what an RPC costs under the categories of a limiter.
 * @throws Error naming the RPC, when a charge is malformed or its category is not declared.
 */
export function chargingOf(method: DescMethod, declared: RpcCharges | undefined, limiter: Limiter): RpcCharging {
  const plan = planRpc(method, declared)
  const numbered = plan.charges.map((charge) => {
    try {
      return { charge, category: limiter.categoryId(charge.category) }
    } catch (error) {
      throw new Error(`${rpcName(method)}: ${(error as Error).message}`, { cause: error })
    }
  })
  return { plan, charges: numbered.filter(({ charge }) => !charge.byHandler) }
}
