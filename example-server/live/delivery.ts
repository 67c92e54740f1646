import type { OpenStream } from '../../src/index.ts'
import { bounds } from '../bounds.ts'
import type { Applied } from '../gen/example/v1/backend_pb.ts'
import type { Store } from '../store.ts'
import { toStoredEnvelope } from '../stored-envelope.ts'
import type { Delivered, Holder, Hub } from './hub.ts'
import { Outbox, type StreamEvent } from './outbox.ts'

/** A topic, and the sequence id after which it is wanted. */
export interface Cursor {
  readonly topic: string
  readonly afterSequenceId: bigint
}

/** A topic that the stream holds. `after` is the last envelope of it that was put out, or its cursor. */
type Registration = Holder & { readonly topic: string; after: bigint }

/**
 * What one stream delivers: of each topic every envelope above its cursor once, in the order of their sequence ids. A
 * registration is either live, and given each new envelope by the hub, or behind, and ignores the hub until a catch-up read has
 * found nothing more above what it has. It falls behind again when its client does not read: then no more than a
 * sequence id is kept for it.
 */
export class Delivery {
  readonly #hub: Hub
  readonly #store: Store
  readonly #stream: OpenStream
  readonly #registrations = new Map<string, Registration>()
  /** In the order in which they are read. */
  readonly #behind = new Set<Registration>()
  readonly #outbox = new Outbox()
  #isReading = false
  /** A read that was paid for when nothing was left to read: the next one costs nothing. */
  #isPaid = false
  /** Where in the outbox the last page ends: the next is not read before it is sent. */
  #pageEnd = 0
  #failure: { readonly error: unknown } | undefined
  #isComplete = false

  constructor(hub: Hub, store: Store, stream: OpenStream) {
    this.#hub = hub
    this.#store = store
    this.#stream = stream
    if (!stream.signal.aborted) stream.signal.addEventListener('abort', () => this.#close())
  }

  /** How many topics are held. */
  get topics(): number {
    return this.#registrations.size
  }

  has(topic: string): boolean {
    return this.#registrations.has(topic)
  }

  /**
   * Registers topics that are not held yet, and then asks for their target: the greatest sequence id that is stored for
   * them. A topic whose cursor is there has nothing to catch up with.
   * @throws the reason of the stream's end: nothing is registered.
   */
  hold(cursors: readonly Cursor[], readTarget?: () => bigint): bigint | undefined {
    this.#stream.signal.throwIfAborted()
    const added = cursors.map(({ topic, afterSequenceId }) => this.#register(topic, afterSequenceId))
    const target = readTarget?.()
    for (const registration of added) {
      if (target === undefined || registration.after < target) this.#behind.add(registration)
    }
    return target
  }

  drop(topics: readonly string[]): void {
    for (const topic of topics) {
      const registration = this.#registrations.get(topic)
      if (registration === undefined) continue
      this.#hub.remove(topic, registration)
      this.#registrations.delete(topic)
      this.#behind.delete(registration)
    }
  }

  /** Sends `applied`, and resolves when it is sent. */
  async confirm(applied: Applied): Promise<void> {
    this.#outbox.add(applied)
    const end = this.#outbox.added
    while (this.#outbox.taken < end) await this.#outbox.changed()
  }

  /** No update comes any more: what holds no topic then has nothing left to send. */
  complete(): void {
    this.#isComplete = true
    this.#outbox.wake()
  }

  /** Ends the stream with an error, after what waits to be sent. */
  fail(error: unknown): void {
    this.#failure ??= { error }
    this.#outbox.wake()
  }

  /** What to send, until the stream ends. Nothing is registered after it. */
  async *events(): AsyncGenerator<StreamEvent> {
    try {
      for (;;) {
        this.#stream.signal.throwIfAborted()
        this.#catchUp()
        const event = this.#outbox.take()
        if (event !== undefined) yield event
        else if (this.#failure !== undefined) throw this.#failure.error
        else if (this.#isComplete && this.topics === 0) return
        else await this.#outbox.changed()
      }
    } finally {
      this.#close()
    }
  }

  #register(topic: string, after: bigint): Registration {
    const registration: Registration = {
      topic,
      after,
      deliver: (delivered) => this.#deliver(registration, delivered),
    }
    this.#registrations.set(topic, registration)
    this.#hub.add(topic, registration)
    return registration
  }

  #deliver(registration: Registration, delivered: Delivered): void {
    if (this.#behind.has(registration) || delivered.envelope.sequenceId <= registration.after) return
    if (this.#outbox.isFull) this.#behind.add(registration)
    else this.#put(registration, delivered)
  }

  #put(registration: Registration, delivered: Delivered): void {
    registration.after = delivered.envelope.sequenceId
    this.#outbox.add(delivered)
  }

  /** Nobody waits for it: while the read is denied, what is live goes on (RATE-033). */
  #catchUp(): void {
    if (this.#isReading || this.#behind.size === 0 || this.#outbox.taken < this.#pageEnd) return
    if (this.#isPaid) {
      this.#readPage()
      return
    }
    this.#isReading = true
    this.#stream
      .catchUp(() => this.#readPage())
      .then(
        () => {
          this.#isReading = false
          this.#outbox.wake()
        },
        (error: unknown) => this.fail(error),
      )
  }

  /** Reads a page of what is behind. All in one turn: what is published afterwards comes from the hub, and nothing else does. */
  #readPage(): void {
    this.#isPaid = this.#behind.size === 0
    let room: number = bounds.page
    for (const registration of this.#behind) {
      const rows = this.#store.history(registration.topic, registration.after, room + 1)
      for (const row of rows.slice(0, room)) {
        this.#put(registration, { envelope: toStoredEnvelope(row), bytes: row.envelope.length })
      }
      if (rows.length > room) break
      room -= rows.length
      this.#behind.delete(registration)
    }
    this.#pageEnd = this.#outbox.added
  }

  #close(): void {
    this.drop([...this.#registrations.keys()])
    // Its client may never read on, and would keep it.
    this.#outbox.clear()
  }
}
