import type { DescMethod } from '@bufbuild/protobuf'
import type { RpcCharges } from '../charge/charge.ts'
import type { HandlerSpends } from '../charge/handler-spend.ts'
import type { PlannedCharge } from '../charge/rpc-plan.ts'
import { isClientStreaming, planRpc, rpcName } from '../charge/rpc-plan.ts'
import type { Limiter } from '../limiter/limiter.ts'

/** A charge that the plugin spends, with the number of its category. */
export interface NumberedCharge {
  readonly charge: PlannedCharge
  readonly category: number
}

/** What the plugin spends on one RPC, ready for use. */
export interface RpcCharging extends HandlerSpends {
  /** Spent once, in order, when a client or bidi stream opens: what depends on none of its messages. Else empty. */
  readonly atOpen: readonly NumberedCharge[]
  /** Spent in order for each message, before the handler receives it. Those that the handler spends are in neither. */
  readonly perMessage: readonly NumberedCharge[]
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
  const byHandler = new Map(
    numbered.filter(({ charge }) => charge.byHandler).map(({ charge, category }) => [charge.category, category]),
  )
  const charges = numbered.filter(({ charge }) => !charge.byHandler)
  const isAtOpen = ({ charge }: NumberedCharge) => isClientStreaming(method) && charge.count === undefined
  const perMessage = charges.filter((charge) => !isAtOpen(charge))
  return { plan, atOpen: charges.filter(isAtOpen), perMessage, byHandler }
}

/** Whether the plugin spends anything on an RPC beside its unit of `request`. */
export function hasFurtherCharges({ atOpen, perMessage }: RpcCharging): boolean {
  return atOpen.length > 0 || perMessage.length > 0
}
