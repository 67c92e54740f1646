import type { Clock } from '../clock/clock.ts'
import type { OpenStream, StreamHost } from './open-stream.ts'
import { type RentOf, rentFor } from './rent.ts'
import { RentQueue } from './rent-queue.ts'
import { RentedStream, type StreamTerms } from './rented-stream.ts'

/** What the option `streams` says of all streams, checked. */
interface CheckedOptions {
  readonly periodSeconds: number
  readonly rentOf: RentOf
  readonly maxOpen: number
}

/** All open streams of one plugin. */
export class Streams {
  readonly #terms: StreamTerms
  readonly #queue: RentQueue
  readonly #maxOpen: number
  readonly #full: () => Error
  #closed: Error | undefined

  /** @param full Makes the error of one stream too many. */
  constructor(clock: Clock, { periodSeconds, rentOf, maxOpen }: CheckedOptions, full: () => Error) {
    this.#maxOpen = maxOpen
    this.#full = full
    this.#queue = new RentQueue(clock, BigInt(periodSeconds) * 1_000_000_000n)
    this.#terms = { clock, rentOf, queue: this.#queue }
  }

  /**
   * Opens a stream and pays the rent of its first period, in one spend.
   * @throws the error of the denial, with the delay of that spend; the reason of the host's signal, when the request is
   * over, what `close` was given, when it was called, and an error of its own, when `maxOpen` are open: nothing is
   * charged. RangeError when `topics` is no count.
   */
  open(topics: number, host: StreamHost): OpenStream {
    const rent = rentFor(this.#terms.rentOf, topics)
    if (this.#closed !== undefined) throw this.#closed
    host.signal.throwIfAborted()
    // Who is overdue pays first: it may be the same caller.
    this.#queue.settle()
    if (this.#queue.size >= this.#maxOpen) throw this.#full()
    const denial = host.spend('rent', rent, rent)
    if (denial !== undefined) throw denial.error
    return new RentedStream(this.#terms, host, topics, rent)
  }

  /** Ends every stream and its response with `reason`. None can be opened any more. */
  close(reason: Error): void {
    this.#closed = reason
    this.#queue.settle()
    for (let each = this.#queue.first; each !== undefined; each = this.#queue.first) (each as RentedStream).fail(reason)
  }
}
