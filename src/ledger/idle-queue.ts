const NONE = -1

/** Records in the order in which they are idle: a binary heap in which each record knows its place, of a fixed size. */
export class IdleQueue {
  /** When each record is idle, by record, also of those that are not in the queue. */
  readonly at: Float64Array
  readonly #heap: Int32Array
  /** By record. */
  readonly #places: Int32Array
  #length = 0

  /** @param records How many there are. */
  constructor(records: number) {
    this.at = new Float64Array(records)
    this.#heap = new Int32Array(records)
    this.#places = new Int32Array(records).fill(NONE)
  }

  /** Bytes that it takes for each record. */
  static readonly bytesPerRecord = 16

  get bytes(): number {
    return this.at.byteLength + this.#heap.byteLength + this.#places.byteLength
  }

  /** The record that is idle first, or -1. */
  get first(): number {
    return this.#length === 0 ? NONE : this.#heap[0]!
  }

  /** Puts a record where it belongs, whether it is in the queue or not. */
  put(record: number, at: number): void {
    this.at[record] = at
    let place = this.#places[record]!
    if (place === NONE) {
      place = this.#length
      this.#length += 1
    }
    this.#settle(record, place)
  }

  /** Takes a record out, if it is in the queue. */
  remove(record: number): void {
    const place = this.#places[record]!
    if (place === NONE) return
    this.#places[record] = NONE
    this.#length -= 1
    const last = this.#heap[this.#length]!
    if (last !== record) this.#settle(last, place)
  }

  /** Finds the place of a record, from a place that is free for it. */
  #settle(record: number, from: number): void {
    const at = this.at[record]!
    let place = from
    while (place > 0) {
      const parent = (place - 1) >> 1
      const above = this.#heap[parent]!
      if (this.at[above]! <= at) break
      this.#set(above, place)
      place = parent
    }
    for (;;) {
      let child = 2 * place + 1
      if (child >= this.#length) break
      if (child + 1 < this.#length && this.at[this.#heap[child + 1]!]! < this.at[this.#heap[child]!]!) child += 1
      const below = this.#heap[child]!
      if (this.at[below]! >= at) break
      this.#set(below, place)
      place = child
    }
    this.#set(record, place)
  }

  #set(record: number, place: number): void {
    this.#heap[place] = record
    this.#places[record] = place
  }
}
