import type { Instant } from '../limit/instant.ts'
import type { Fingerprint } from './fingerprint.ts'
import { IdleQueue } from './idle-queue.ts'

/** What becomes of a key beyond the number that is kept: another is forgotten for it, or all such keys share one record. */
export type Overflow = 'forget' | 'share'

const NONE = -1

/** How many records are asked at most, for one spend, whether they are idle by now. */
const MOST_ASKED = 8

/**
 * Later than all times. Records of which it cannot be said when they are idle stand in the queue from here on, in the order
 * in which they were last recorded in: of those, the first is idle first.
 */
const UNKNOWN = 2 ** 40

/**
 * A fixed number of records, found by fingerprint: for each some numbers, all 0 at first, which mean something to a kind of limit;
 * how many units are held; and when it is idle, which is when it may be given to another. All memory is allocated at once,
 * and no call takes longer for more records than the queue of idle ones does.
 */
export class Records {
  readonly keys: number
  /** Of all records, one behind the other. */
  readonly state: Float64Array
  /** Units held, by record. A record that holds some is never taken. */
  readonly held: Float64Array
  /** The record of all keys that have none of their own and get none. */
  readonly shared: number
  /** A record that says nothing, for keys that have none yet. Must not be written to. */
  readonly blank: number
  readonly #size: number
  readonly #overflow: Overflow
  readonly #idleAt: (record: number, now: Readonly<Instant>) => number
  readonly #usedOf: (record: number, now: Readonly<Instant>) => number
  readonly #prints: Int32Array
  /** Records with the same hash, or free ones, are chained. */
  readonly #next: Int32Array
  readonly #buckets: Int32Array
  /** The records that may be taken: those of keys that hold nothing. */
  readonly #queue: IdleQueue
  #free: number
  #used = 0
  #forgotten = 0
  #unknown = UNKNOWN

  /**
   * @param keys How many keys have a record of their own. 0: all share one, and nothing else is allocated.
   * @param size Numbers for each key.
   * @param usedOf How much of its limits a record has used, 0 … 1.
   * @param idleAt From when on nothing that a record says counts any more, in seconds of the ledger's time, by what is known
   * now; Infinity: it cannot be said.
   */
  constructor(
    keys: number,
    size: number,
    overflow: Overflow,
    idleAt: (record: number, now: Readonly<Instant>) => number,
    usedOf: (record: number, now: Readonly<Instant>) => number = () => 1,
  ) {
    this.keys = keys
    this.#size = size
    this.#overflow = overflow
    this.#idleAt = idleAt
    this.#usedOf = usedOf
    this.shared = keys
    this.blank = keys + 1
    const all = recordsFor(keys)
    this.state = new Float64Array(all * size)
    this.held = new Float64Array(all)
    this.#prints = new Int32Array(keys * 4)
    this.#next = new Int32Array(keys)
    this.#buckets = new Int32Array(bucketsFor(keys)).fill(NONE)
    this.#queue = new IdleQueue(keys)
    this.#free = keys === 0 ? NONE : 0
    for (let record = 0; record < keys; record++) this.#next[record] = record + 1 < keys ? record + 1 : NONE
  }

  /** Bytes that so many records take. */
  static bytes(keys: number, size: number): number {
    return recordsFor(keys) * (size + 1) * 8 + keys * (20 + IdleQueue.bytesPerRecord) + bucketsFor(keys) * 4
  }

  get bytes(): number {
    const arrays = [this.state, this.held, this.#prints, this.#next, this.#buckets]
    return arrays.reduce((sum, { byteLength }) => sum + byteLength, this.#queue.bytes)
  }

  /** How many times a record was taken before it was idle. */
  get forgotten(): number {
    return this.#forgotten
  }

  /** How many keys have a record of their own. */
  get used(): number {
    return this.#used
  }

  /** Where the numbers of a record begin. */
  at(record: number): number {
    return record * this.#size
  }

  /** The record that counts for a key: its own, `shared`, or `blank` for one that gets its own when something is recorded. */
  find(print: Fingerprint, now: Readonly<Instant>): number {
    if (this.keys === 0) return this.shared
    const own = this.#own(print)
    if (own !== NONE) return own
    if (this.#hasRoom(now)) return this.blank
    // Where everything is held, what cannot be remembered apart is remembered together.
    return this.#overflow === 'forget' && this.#queue.first !== NONE ? this.blank : this.shared
  }

  /** The same, and gives a key its own where `find` says `blank`. */
  claim(print: Fingerprint, now: Readonly<Instant>): number {
    const found = this.find(print, now)
    if (found !== this.blank) return found
    if (this.#free === NONE) {
      this.#forgotten += 1
      this.#drop(this.#queue.first)
    }
    const record = this.#free
    this.#free = this.#next[record]!
    this.#used += 1
    this.state.fill(0, this.at(record), this.at(record + 1))
    this.#queue.at[record] = 0
    this.#prints[record * 4] = print.a
    this.#prints[record * 4 + 1] = print.b
    this.#prints[record * 4 + 2] = print.c
    this.#prints[record * 4 + 3] = print.d
    const bucket = this.#bucketOf(print.a)
    this.#next[record] = this.#buckets[bucket]!
    this.#buckets[bucket] = record
    return record
  }

  /** To be called when something was recorded in a record. */
  recorded(record: number, now: Readonly<Instant>): void {
    if (record === this.shared) return
    const at = this.#placeAt(record, this.#idleAt(record, now), now)
    if (this.held[record] === 0) this.#queue.put(record, at)
    else this.#queue.at[record] = at
  }

  /** Holds units of a key's record. */
  hold(record: number, units: number): void {
    this.held[record]! += units
    if (record !== this.shared) this.#queue.remove(record)
  }

  /** Gives held units of a record back. */
  release(record: number, units: number): void {
    this.held[record]! -= units
    if (this.held[record] === 0 && record !== this.shared) this.#queue.put(record, this.#queue.at[record]!)
  }

  #own(print: Fingerprint): number {
    let record = this.#buckets[this.#bucketOf(print.a)]!
    while (record !== NONE && !this.#is(record, print)) record = this.#next[record]!
    return record
  }

  #is(record: number, print: Fingerprint): boolean {
    const prints = this.#prints
    const at = record * 4
    return (
      prints[at] === print.a && prints[at + 1] === print.b && prints[at + 2] === print.c && prints[at + 3] === print.d
    )
  }

  /** Whether a record is free, or was idle and is free now. */
  #hasRoom(now: Readonly<Instant>): boolean {
    const time = seconds(now)
    for (let asked = 0; this.#free === NONE && asked < MOST_ASKED; asked++) {
      const first = this.#queue.first
      if (first === NONE) return false
      const expected = this.#queue.at[first]!
      if (expected > time && expected < UNKNOWN) return false
      // What an epoch's source said may have been wrong, or it says more by now.
      const idleAt = this.#idleAt(first, now)
      if (idleAt <= time) this.#drop(first)
      else if (expected >= UNKNOWN && idleAt === Number.POSITIVE_INFINITY) return false
      else this.#queue.put(first, this.#placeAt(first, idleAt, now))
    }
    return this.#free !== NONE
  }

  /** Where a record stands in the queue. */
  #placeAt(record: number, idleAt: number, now: Readonly<Instant>): number {
    // Of those that are idle at the same moment, as all are at the end of a window, who has used less comes first: by less than 1 µs.
    if (idleAt !== Number.POSITIVE_INFINITY) return idleAt - (1 - this.#usedOf(record, now)) / 1e6
    this.#unknown += 1
    return this.#unknown
  }

  /** Makes a record free. */
  #drop(record: number): void {
    this.#queue.remove(record)
    const bucket = this.#bucketOf(this.#prints[record * 4]!)
    let before = this.#buckets[bucket]!
    if (before === record) {
      this.#buckets[bucket] = this.#next[record]!
    } else {
      while (this.#next[before] !== record) before = this.#next[before]!
      this.#next[before] = this.#next[record]!
    }
    this.#next[record] = this.#free
    this.#free = record
    this.#used -= 1
  }

  #bucketOf(a: number): number {
    return (a >>> 0) % this.#buckets.length
  }
}

function seconds(now: Readonly<Instant>): number {
  return now.seconds + now.nanos / 1e9
}

/** With those that are nobody's own: `shared`, and `blank` where there are others. */
function recordsFor(keys: number): number {
  return keys === 0 ? 1 : keys + 2
}

function bucketsFor(keys: number): number {
  return keys * 2 + 1
}
