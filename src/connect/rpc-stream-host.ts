import { Code, ConnectError } from '@connectrpc/connect'
import type { ResolvedCaller } from '../limiter/limiter.ts'
import type { RequestAllowance } from '../request/request-allowance.ts'
import type { StreamDenial, StreamHost } from '../stream/open-stream.ts'

/** The response of a streaming RPC. */
export interface StreamResponse {
  /** Aborted when it is over. */
  readonly signal: AbortSignal
  /** Ends it with an error. */
  fail(error: Error): void
}

/** The categories that streams spend, by number. */
export interface StreamCategories {
  readonly rent: { readonly name: string; readonly id: number }
  readonly request: number
}

/** A streaming RPC, as the stream that it opens sees it. */
export class RpcStreamHost implements StreamHost {
  readonly #allowance: RequestAllowance
  readonly #caller: ResolvedCaller
  readonly #response: StreamResponse
  readonly #categories: StreamCategories

  constructor(
    allowance: RequestAllowance,
    caller: ResolvedCaller,
    response: StreamResponse,
    categories: StreamCategories,
  ) {
    this.#allowance = allowance
    this.#caller = caller
    this.#response = response
    this.#categories = categories
  }

  get signal(): AbortSignal {
    return this.#response.signal
  }

  spend(category: 'rent' | 'request', units: number, retryUnits: number): StreamDenial | undefined {
    const id = category === 'rent' ? this.#categories.rent.id : this.#categories.request
    const denial = this.#allowance.tryCharge(this.#caller, id, units, retryUnits)
    if (denial === undefined) return undefined
    return { error: this.#allowance.rejectionOf(denial), retryDelayMs: denial.retryDelayMs }
  }

  /** Connect aborts the signal at a deadline, and leaves it to the handler to stop. Who has left is told nothing. */
  over(reason: unknown): void {
    if (isDeadline(reason)) this.#response.fail(reason)
  }

  fail(error: Error): void {
    this.#response.fail(error)
  }

  report(error: unknown): void {
    this.#allowance.report(error, 'update of a stream failed')
  }
}

/** Whether a signal was aborted because the time for the call is over. */
export function isDeadline(reason: unknown): reason is ConnectError {
  return reason instanceof ConnectError && reason.code === Code.DeadlineExceeded
}
