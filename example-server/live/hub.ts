import type { StoredEnvelope } from '../gen/example/v1/backend_pb.ts'

/** An envelope on its way to streams. It is made once, and all of them share it. */
export interface Delivered {
  readonly envelope: StoredEnvelope
  /** Of its payload as it is stored. */
  readonly bytes: number
}

/** Somebody who holds a topic. */
export interface Holder {
  /** Takes an envelope that has just been stored. Must not throw. */
  deliver(delivered: Delivered): void
}

/** Who holds which topic: hands each envelope that is published to all streams that hold its topic. */
export class Hub {
  readonly #holders = new Map<string, Set<Holder>>()
  #size = 0

  /** How many topics are held, each counted once for each holder. */
  get size(): number {
    return this.#size
  }

  /** How many topics somebody holds: no others are remembered. */
  get topics(): number {
    return this.#holders.size
  }

  add(topic: string, holder: Holder): void {
    const holders = this.#holders.get(topic) ?? new Set()
    if (holders.has(holder)) return
    this.#holders.set(topic, holders.add(holder))
    this.#size++
  }

  remove(topic: string, holder: Holder): void {
    const holders = this.#holders.get(topic)
    if (!holders?.delete(holder)) return
    this.#size--
    if (holders.size === 0) this.#holders.delete(topic)
  }

  /** To be called in the same turn in which the envelope was stored: whoever reads the store in between would read it twice. */
  publish(topic: string, delivered: Delivered): void {
    for (const holder of this.#holders.get(topic) ?? []) holder.deliver(delivered)
  }
}
