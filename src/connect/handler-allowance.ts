import type { DescMethod } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { undeclaredSpend } from '../charge/handler-spend.ts'
import type { ResolvedCaller } from '../limiter/limiter.ts'
import type { Hold, Reservation } from '../limiter/reservation.ts'
import type { Allowance } from '../request/allowance.ts'
import type { RequestAllowance } from '../request/request-allowance.ts'
import type { OpenStream } from '../stream/open-stream.ts'
import type { Streams } from '../stream/streams.ts'
import type { RpcCharging } from './rpc-charges.ts'
import { RpcStreamHost, type StreamCategories, type StreamResponse } from './rpc-stream-host.ts'

/** What the streams of a plugin have in common. */
export interface HandlerStreams extends StreamCategories {
  readonly streams: Streams
}

/** What the handler of an RPC can do: the same as its request, but it spends only what its RPC declares `by_handler`. */
export class HandlerAllowance implements Allowance {
  readonly request: RequestAllowance
  readonly #chargings: ReadonlyMap<DescMethod, RpcCharging>
  readonly #streams: HandlerStreams
  #charging: RpcCharging | undefined
  #response: StreamResponse | undefined
  #opensStream = false

  /** @param chargings What is charged for every RPC that the request may be for. */
  constructor(request: RequestAllowance, chargings: ReadonlyMap<DescMethod, RpcCharging>, streams: HandlerStreams) {
    this.request = request
    this.#chargings = chargings
    this.#streams = streams
  }

  /** The handler is that of this RPC. */
  of(method: DescMethod): this {
    this.#charging ??= this.#chargings.get(method)
    return this
  }

  get caller(): ResolvedCaller | undefined {
    return this.request.caller
  }

  async identify(): Promise<ResolvedCaller> {
    return this.request.identify()
  }

  async spend(category: string, cost: number): Promise<void> {
    await this.request.spend(category, cost, this.#charging)
  }

  async reserve(category: string, cost: number): Promise<Reservation> {
    return this.request.reserve(category, cost, this.#charging)
  }

  async hold(name: string): Promise<Hold> {
    return this.request.hold(name)
  }

  /** The handler that is about to run serves a streaming RPC, whose response this is. */
  serve(response: StreamResponse): void {
    this.#response = response
  }

  /** The response is at its end. What a stream held must not stay with it when its client does not read. */
  responseEnds(): void {
    if (this.#opensStream) this.request.onResponseEnd?.()
  }

  async openStream(topics: number): Promise<OpenStream> {
    this.#opensStream = true
    try {
      if (this.#response === undefined) throw new Error('openStream: only a streaming RPC can open a stream')
      const { plan, byHandler } = this.#charging!
      const { rent } = this.#streams
      if (!byHandler.has(rent.name)) throw undeclaredSpend(plan, rent.name)
      const host = new RpcStreamHost(this.request, await this.request.identify(), this.#response, this.#streams)
      if (this.request.hasGone) throw new ConnectError('the client has gone', Code.Canceled)
      return this.#streams.streams.open(topics, host)
    } catch (error) {
      if (!(error instanceof ConnectError) && this.#response?.signal.aborted !== true) {
        this.request.report(error, 'openStream failed')
      }
      throw error
    }
  }
}
