import type { Clock } from '../clock/clock.ts'
import { CatchUpReads } from './catch-up-reads.ts'
import type { OpenStream, StreamHost, UpdateOptions } from './open-stream.ts'
import { type RentOf, rentFor } from './rent.ts'
import type { RentQueue, Tenant } from './rent-queue.ts'

/** What the streams of a plugin have in common. */
export interface StreamTerms {
  readonly clock: Clock
  readonly rentOf: RentOf
  readonly queue: RentQueue
}

/**
 * An open stream. There may be very many: what only some of them need is made when it is needed.
 */
export class RentedStream implements OpenStream, Tenant {
  dueNs = 0n
  previous: Tenant | undefined
  next: Tenant | undefined

  readonly #terms: StreamTerms
  readonly #host: StreamHost
  #topics: number
  /** Of `#topics`. */
  #rent: number
  /** Rent that the current period has cost. */
  #paid: number
  #ended = false
  #reason: unknown
  #controller: AbortController | undefined
  #reads: CatchUpReads | undefined
  /** Fails the reads that are paid and not yet done. */
  #reading: Set<(reason: unknown) => void> | undefined

  /** Of a stream whose first period is paid. */
  constructor(terms: StreamTerms, host: StreamHost, topics: number, rent: number) {
    this.#terms = terms
    this.#host = host
    this.#topics = topics
    this.#rent = rent
    this.#paid = rent
    terms.queue.add(this)
    host.signal.addEventListener('abort', this)
  }

  get topics(): number {
    return this.#topics
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#ended) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  update(topics: number, options: UpdateOptions = {}): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    try {
      this.#update(topics, options.registers === true)
      resolve()
    } catch (error) {
      if (!this.#ended) this.#host.report(error)
      this.#handled(promise)
      reject(error)
    }
    return promise
  }

  #update(topics: number, registers: boolean): void {
    const rent = rentFor(this.#terms.rentOf, topics)
    // A timer that is late must not make this look like the period before.
    this.#terms.queue.settle()
    if (this.#ended) throw this.#reason
    if (rent > this.#paid) {
      this.#spend('rent', rent - this.#paid, rent)
      this.#paid = rent
    }
    // The stream in its place spends one to open, too (RATE-034).
    if (registers) this.#spend('request', 1, 2)
    this.#topics = topics
    this.#rent = rent
  }

  catchUp<T>(read: () => T | Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const fail = (error: unknown) => {
      this.#handled(promise)
      reject(error)
    }
    const start = async () => {
      if (this.#ended) return fail(this.#reason)
      this.#reading ??= new Set()
      this.#reading.add(fail)
      try {
        const result = await read()
        // Its end has failed it otherwise.
        if (!this.#ended) resolve(result)
      } catch (error) {
        fail(error)
      } finally {
        this.#reading.delete(fail)
      }
    }
    if (this.#ended) {
      fail(this.#reason)
    } else {
      this.#reads ??= new CatchUpReads(this.#terms.clock, () => this.#host.spend('request', 1, 1))
      // Reads start in a turn of their own: they may do anything to the stream.
      this.#reads.add({ start: () => queueMicrotask(start), fail })
    }
    return promise
  }

  end(): void {
    if (this.#ended) return
    this.#terms.queue.leave(this)
    this.#stop(new DOMException('the stream has ended', 'AbortError'))
  }

  /** The request is over. */
  handleEvent(): void {
    if (this.#ended) return
    this.#terms.queue.leave(this)
    const { reason } = this.#host.signal
    this.#host.over(reason)
    this.#stop(reason)
  }

  payPeriod(): void {
    this.#paid = this.#rent
    const denial = this.#host.spend('rent', this.#rent, this.#rent)
    if (denial !== undefined) this.#deny(denial.error)
  }

  /** Ends the stream and its response. */
  fail(error: Error): void {
    if (!this.#ended) this.#deny(error)
  }

  /** The same for one that whoever was told of the denial may have ended by then. */
  #deny(error: Error): void {
    this.#host.fail(error)
    this.#stop(error)
  }

  #spend(category: 'rent' | 'request', units: number, retryUnits: number): void {
    const denial = this.#host.spend(category, units, retryUnits)
    if (denial === undefined) return
    this.#deny(denial.error)
    throw denial.error
  }

  #stop(reason: unknown): void {
    if (this.#ended) return
    this.#ended = true
    this.#reason = reason
    this.#terms.queue.remove(this)
    this.#host.signal.removeEventListener('abort', this)
    this.#reads?.stop(reason)
    for (const fail of this.#reading ?? []) fail(reason)
    this.#controller?.abort(reason)
  }

  /** The end of a stream is no news to a handler that no longer looks: its rejections must not end the process. */
  #handled(promise: Promise<unknown>): void {
    if (this.#ended) promise.catch(() => {})
  }
}
