import { type DescMethod, getOption, hasOption, type Message } from '@bufbuild/protobuf'
import { charge as chargeOption, free as freeOption } from '../gen/allowance/v1/charge_pb.ts'
import { snakeCase } from '../policy/spelling.ts'
import type { Charge, RpcCharges } from './charge.ts'
import { chargeProblem } from './check-charge.ts'
import { compileCountPath } from './count-path.ts'

/** One charge of an RPC, checked and compiled. */
export type PlannedCharge = {
  /** The category that is spent. */
  readonly category: string
  /** The least that is counted. 0 where there is no `count`. */
  readonly atLeast: number
  /** Units for each value counted, or, where there is no `count`, for the whole call. From 1 up to 2³²−1. */
  readonly units: number
  /** Counts in a request message of the RPC. Undefined: the charge does not depend on the message. */
  readonly count: ((message: Message) => number) | undefined
  /** The count path as it was declared. Undefined exactly when `count` is. */
  readonly path: string | undefined
  /** True: only the handler spends it, with a cost of its own that {@link costOf} does not know. */
  readonly byHandler: boolean
}

/** What one RPC costs. */
export type RpcPlan = {
  readonly method: DescMethod
  /** True: the RPC costs nothing, not even the unit of `request`, and `charges` is empty. */
  readonly free: boolean
  /** In the order in which they are spent, after the unit of `request`. */
  readonly charges: readonly PlannedCharge[]
}

/**
 * Works out what an RPC costs, from the options `(allowance.v1.charge)` and `(allowance.v1.free)` of its .proto or, when
 * `declared` is given, from `declared` alone: it stands instead of both options.
 *
 * An RPC that declares nothing costs one unit of `request`, unless its service is `grpc.health.v1.Health`: then it is
 * free. Count paths are checked against the RPC's request message here, and compiled.
 *
 * @throws Error naming the RPC, the charge by its index, and what is allowed, for a charge that cannot be meant.
 */
export function planRpc(method: DescMethod, declared?: RpcCharges): RpcPlan {
  const source = declared === undefined ? fromProto(method) : fromTypeScript(declared)
  if (source.free && source.charges.length > 0) {
    throw new Error(`${rpcName(method)}: ${source.freeText} cannot stand beside ${source.listText}; remove one of them`)
  }
  const charges = source.charges.map((charge, index) => {
    const problem = chargeProblem(charge, method.input, source.spell)
    if (problem !== undefined) {
      const place = `${source.listText}[${index}].${source.spell(problem.key)}`
      throw new Error(`${rpcName(method)}: ${place}: ${problem.message}`)
    }
    return planCharge(charge, method)
  })
  return Object.freeze({ method, free: source.free, charges: Object.freeze(charges) })
}

/**
 * The cost of a charge in units: what is counted in the message, or `atLeast` when that is more, times `units`; without
 * a count, `units`. A whole number from 0 up to 2⁵³−1, where it saturates. On client and bidi streams a charge with a
 * count costs this for each received message.
 */
export function costOf(charge: PlannedCharge, message: Message): number {
  if (charge.count === undefined) {
    return charge.units
  }
  return Math.min(Math.max(charge.count(message), charge.atLeast) * charge.units, Number.MAX_SAFE_INTEGER)
}

/** The name of an RPC as it stands in the path of a request, without the leading slash: `backend.v1.Backend/Publish`. */
export function rpcName(method: DescMethod): string {
  return `${method.parent.typeName}/${method.name}`
}

/** Whether the client may send more than one message: a client stream or a bidi stream. */
export function isClientStreaming({ methodKind }: DescMethod): boolean {
  return methodKind === 'client_streaming' || methodKind === 'bidi_streaming'
}

/** What was declared, and how to name its parts to the one who declared it. */
type Source = {
  readonly free: boolean
  readonly charges: readonly Charge[]
  readonly freeText: string
  readonly listText: string
  readonly spell: (key: keyof Charge) => string
}

function fromProto(method: DescMethod): Source {
  const charges = getOption(method, chargeOption).map(({ category, count, atLeast, units, byHandler }): Charge => {
    return { category, count: count === '' ? undefined : count, atLeast, units, byHandler }
  })
  const declaresNothing = charges.length === 0 && !hasOption(method, freeOption)
  return {
    free: declaresNothing ? method.parent.typeName === 'grpc.health.v1.Health' : getOption(method, freeOption),
    charges,
    freeText: '(allowance.v1.free) = true',
    listText: '(allowance.v1.charge)',
    spell: snakeCase,
  }
}

function fromTypeScript(declared: RpcCharges): Source {
  return {
    free: 'free' in declared && declared.free === true,
    charges: 'charges' in declared ? (declared.charges ?? []) : [],
    freeText: 'free: true',
    listText: 'charges',
    spell: (key) => key,
  }
}

function planCharge(charge: Charge, method: DescMethod): PlannedCharge {
  const { category, count: path, atLeast = 0, units = 1, byHandler = false } = charge
  const count = path === undefined ? undefined : compileCountPath(method.input, path)
  return Object.freeze({ category, atLeast, units, count, path, byHandler })
}
