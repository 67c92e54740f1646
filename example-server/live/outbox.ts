import { bounds } from '../bounds.ts'
import type { Applied, StoredEnvelope } from '../gen/example/v1/backend_pb.ts'
import type { Delivered } from './hub.ts'

/** What a stream sends next. */
export type StreamEvent =
  | { readonly case: 'applied'; readonly value: Applied }
  | { readonly case: 'messages'; readonly value: { readonly envelopes: StoredEnvelope[] } }

/** What an envelope takes beyond its payload. */
const OVERHEAD_BYTES = 1024

/** What waits for the client of one stream to read on, in its order. */
export class Outbox {
  #waiting: (Delivered | Applied)[] = []
  #bytes = 0
  #taken = 0
  #wakers: (() => void)[] = []

  /** How much was ever put in. What `taken` has reached is sent. */
  get added(): number {
    return this.#taken + this.#waiting.length
  }

  get taken(): number {
    return this.#taken
  }

  /** Whether it holds as much as may wait for a client that does not read. */
  get isFull(): boolean {
    return this.#bytes >= bounds.waitingBytes
  }

  add(item: Delivered | Applied): void {
    this.#waiting.push(item)
    if (!isApplied(item)) this.#bytes += item.bytes + OVERHEAD_BYTES
    this.wake()
  }

  /** The next event: as many envelopes as make one message, or what else is next. undefined: there is nothing. */
  take(): StreamEvent | undefined {
    const first = this.#waiting[0]
    if (first === undefined) return undefined
    if (isApplied(first)) {
      this.#remove(1)
      return { case: 'applied', value: first }
    }
    const envelopes: StoredEnvelope[] = []
    let bytes = 0
    for (const item of this.#waiting) {
      if (isApplied(item) || envelopes.length === bounds.page) break
      bytes += item.bytes
      if (envelopes.length > 0 && bytes > bounds.messagesBytes) break
      envelopes.push(item.envelope)
    }
    this.#remove(envelopes.length)
    return { case: 'messages', value: { envelopes } }
  }

  /** Nobody takes any more of it. */
  clear(): void {
    this.#remove(this.#waiting.length)
  }

  /** Resolves when something is put in or taken out, or at `wake`. */
  changed(): Promise<void> {
    return new Promise((resolve) => this.#wakers.push(resolve))
  }

  wake(): void {
    for (const wake of this.#wakers.splice(0)) wake()
  }

  #remove(count: number): void {
    for (const item of this.#waiting.splice(0, count)) if (!isApplied(item)) this.#bytes -= item.bytes + OVERHEAD_BYTES
    this.#taken += count
    this.wake()
  }
}

function isApplied(item: Delivered | Applied): item is Applied {
  return '$typeName' in item
}
