import type { DescMethod, Message } from '@bufbuild/protobuf'
import { Code, ConnectError, type Interceptor } from '@connectrpc/connect'
import { costOf, isClientStreaming, rpcName } from '../charge/rpc-plan.ts'
import type { RequestAllowance } from '../request/request-allowance.ts'
import { allowanceKey } from './context.ts'
import { hasFurtherCharges, type NumberedCharge, type RpcCharging } from './rpc-charges.ts'

/**
 * Spends the charges that depend on the message: after decoding, before the handler, in the order of their declaration,
 * stopping at the first that is denied (RATE-010). A client stream or a bidi stream pays for each message before its
 * handler receives it; what does not depend on the message is paid once, when it opens. A server stream has one
 * message: more of them are an error, and not paid.
 * @param chargingOf What an RPC is charged; undefined: nothing, because there is no handler for it, and then there may be no answer.
 */
export function chargeInterceptor(chargingOf: (method: DescMethod) => RpcCharging | undefined): Interceptor {
  return (next) => async (request) => {
    const charging = chargingOf(request.method)
    if (charging === undefined) return unanswered(request.method, await next(request))
    if (!hasFurtherCharges(charging)) return next(request)
    const { atOpen, perMessage } = charging
    const allowance = request.contextValues.get(allowanceKey)?.request
    if (allowance === undefined) throw new ConnectError('the allowance of this request was lost', Code.Internal)

    await spendAll(allowance, atOpen, undefined)
    if (!request.stream) {
      await spendAll(allowance, perMessage, request.message as Message)
      return next(request)
    }
    const messages = request.message as AsyncIterable<Message>
    const paid = paidMessages(messages, allowance, perMessage, isClientStreaming(request.method))
    return next({ ...request, message: paid as typeof request.message })
  }
}

/** An interceptor of the app answered for a handler that is not there: work that nobody can have paid for. */
function unanswered(method: DescMethod, _answer: unknown): never {
  throw new ConnectError(
    `${rpcName(method)} is answered by an interceptor and has no implementation, so that it cannot be charged: implement it`,
    Code.Internal,
  )
}

async function* paidMessages(
  messages: AsyncIterable<Message>,
  allowance: RequestAllowance,
  charges: readonly NumberedCharge[],
  everyMessage: boolean,
): AsyncGenerator<Message> {
  let due = charges
  for await (const message of messages) {
    await spendAll(allowance, due, message)
    if (!everyMessage) due = []
    yield message
  }
}

async function spendAll(
  allowance: RequestAllowance,
  charges: readonly NumberedCharge[],
  message: Message | undefined,
): Promise<void> {
  for (const { charge, category } of charges) {
    const cost = message === undefined ? charge.units : costOf(charge, message)
    const error = allowance.charge(await allowance.identify(), category, cost)
    if (error !== undefined) throw error
  }
}
