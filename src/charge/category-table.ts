import { isClientStreaming, type PlannedCharge, type RpcPlan, rpcName } from './rpc-plan.ts'

/** One RPC of the category table, in words. */
export type CategoryRow = {
  /** Such as `backend.v1.Backend/Publish`. */
  readonly rpc: string
  /** What it costs to call it at all: `free` or `1 request`. */
  readonly call: string
  /** What it costs beyond that, in the order in which it is spent: `publish: envelopes (at least 1)`. */
  readonly charges: readonly string[]
}

/**
 * What every RPC costs, in the order of the plans, as it can be printed when the server starts. An RPC that was
 * registered in several places has one row.
 */
export function categoryTable(plans: readonly RpcPlan[]): CategoryRow[] {
  const rows = plans.map(categoryRow)
  return [...new Map(rows.map((row) => [JSON.stringify(row), row])).values()]
}

function categoryRow({ method, free, charges }: RpcPlan): CategoryRow {
  const isPerMessage = isClientStreaming(method)
  return {
    rpc: rpcName(method),
    call: free ? 'free' : '1 request',
    charges: charges.map((charge) => `${charge.category}: ${costInWords(charge, isPerMessage)}`),
  }
}

/** The table as plain text in aligned columns, one line an RPC and one more for each charge after its first. */
export function formatCategoryTable(rows: readonly CategoryRow[]): string {
  const rpcWidth = Math.max(0, ...rows.map((row) => row.rpc.length))
  const callWidth = Math.max(0, ...rows.map((row) => row.call.length))
  return rows
    .flatMap(({ rpc, call, charges: [first = '', ...others] }) => [
      [rpc, call, first] as const,
      ...others.map((charge) => ['', '', charge] as const),
    ])
    .map(([rpc, call, charge]) => `${rpc.padEnd(rpcWidth)}  ${call.padEnd(callWidth)}  ${charge}`.trimEnd())
    .join('\n')
}

function costInWords(charge: PlannedCharge, isPerMessage: boolean): string {
  if (charge.byHandler) {
    return 'by the handler'
  }
  if (charge.path === undefined) {
    return String(charge.units)
  }
  const notes = [
    ...(charge.atLeast > 0 ? [`at least ${charge.atLeast}`] : []),
    ...(isPerMessage ? ['in each message'] : []),
  ]
  const counted = notes.length > 0 ? `${charge.path} (${notes.join(', ')})` : charge.path
  return charge.units === 1 ? counted : `${counted} × ${charge.units}`
}
