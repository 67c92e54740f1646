import type { Instant } from '../limit/instant.ts'
import type { Fingerprint } from './fingerprint.ts'

/** What becomes of a key beyond the number that is kept: another is forgotten for it, or all such keys share one record. */
export type Overflow = 'forget' | 'share'

/** Records looked at to choose which is forgotten. */
const SAMPLE = 8
const NONE = -1

/**
 * A fixed number of records, found by fingerprint: for each some numbers, all 0 at first, which mean something to a kind of limit;
 * how many units are held; and when it is idle, which is when it may be given to another. All memory is allocated at once.
 */
export class Records {
  readonly keys: number
  /** Of all records, one behind the other. */
  readonly state: Float64Array
  /** Units held, by record. A record that holds some is never taken. */
  readonly held: Float64Array
  /** In seconds of the ledger's time, by record: from then on nothing that it says counts any more. */
  readonly idleAt: Float64Array
  /** The record of all keys that have none of their own and get none. */
  readonly shared: number
  /** A record that says nothing, for keys that have none yet. Must not be written to. */
  readonly blank: number
  readonly #size: number
  readonly #overflow: Overflow
  readonly #isIdle: (record: number) => boolean
  readonly #prints: Int32Array
  /** Records with the same hash, or free ones, are chained. */
  readonly #next: Int32Array
  readonly #buckets: Int32Array
  #free = 0
  #used = 0
  #forgotten = 0
  /** No record is idle before; what is recorded later only comes later. */
  #noneIdleBefore = 0

  /**
   * @param keys How many keys have a record of their own, at least 1.
   * @param size Numbers for each key.
   * @param isIdle Whether a record whose `idleAt` is infinite has become idle all the same.
   */
  constructor(keys: number, size: number, overflow: Overflow, isIdle: (record: number) => boolean) {
    this.keys = keys
    this.#size = size
    this.#overflow = overflow
    this.#isIdle = isIdle
    this.shared = keys
    this.blank = keys + 1
    this.state = new Float64Array((keys + 2) * size)
    this.held = new Float64Array(keys + 2)
    this.idleAt = new Float64Array(keys + 2)
    this.#prints = new Int32Array(keys * 4)
    this.#next = new Int32Array(keys)
    this.#buckets = new Int32Array(bucketsFor(keys)).fill(NONE)
    for (let record = 0; record < keys; record++) this.#next[record] = record + 1 < keys ? record + 1 : NONE
  }

  /** Bytes that so many records take. */
  static bytes(keys: number, size: number): number {
    return (keys + 2) * (size + 2) * 8 + keys * 20 + bucketsFor(keys) * 4
  }

  get bytes(): number {
    return Records.bytes(this.keys, this.#size)
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
    const own = this.#own(print)
    if (own !== NONE) return own
    return this.#overflow === 'share' && !this.#hasRoom(now) ? this.shared : this.blank
  }

  /** The same, and gives a key its own where `find` says `blank`. */
  claim(print: Fingerprint, now: Readonly<Instant>): number {
    const own = this.#own(print)
    if (own !== NONE) return own
    if (!this.#hasRoom(now)) {
      if (this.#overflow === 'share') return this.shared
      const victim = this.#soonestIdle()
      // Everything is held: what cannot be remembered apart is remembered together.
      if (victim === NONE) return this.shared
      this.#forgotten += 1
      this.#drop(victim)
    }
    const record = this.#free
    this.#free = this.#next[record]!
    this.#used += 1
    this.state.fill(0, this.at(record), this.at(record + 1))
    this.idleAt[record] = 0
    this.#prints[record * 4] = print.a
    this.#prints[record * 4 + 1] = print.b
    this.#prints[record * 4 + 2] = print.c
    this.#prints[record * 4 + 3] = print.d
    const bucket = this.#bucketOf(print.a)
    this.#next[record] = this.#buckets[bucket]!
    this.#buckets[bucket] = record
    return record
  }

  /** Holds units of a key's record. */
  hold(record: number, units: number): void {
    this.held[record]! += units
  }

  /** Gives held units of a record back. */
  release(record: number, units: number, now: Readonly<Instant>): void {
    this.held[record]! -= units
    if (this.held[record] !== 0 || record === this.shared) return
    const idleAt = this.idleAt[record]!
    if (idleAt <= seconds(now)) this.#drop(record)
    else this.#noneIdleBefore = Math.min(this.#noneIdleBefore, idleAt === Number.POSITIVE_INFINITY ? 0 : idleAt)
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

  /** Whether a key could have a record that is free, or idle. */
  #hasRoom(now: Readonly<Instant>): boolean {
    if (this.#free !== NONE) return true
    const time = seconds(now)
    if (time < this.#noneIdleBefore) return false
    let soonest = Number.POSITIVE_INFINITY
    for (let record = 0; record < this.keys; record++) {
      const idleAt = this.idleAt[record]!
      if (this.held[record]! > 0) continue
      if (idleAt <= time || (idleAt === Number.POSITIVE_INFINITY && this.#isIdle(record))) {
        this.#drop(record)
      } else {
        // What has no time to come may be idle at any time.
        soonest = Math.min(soonest, idleAt === Number.POSITIVE_INFINITY ? 0 : idleAt)
      }
    }
    this.#noneIdleBefore = soonest
    return this.#free !== NONE
  }

  /** The record that is idle soonest, of a few. */
  #soonestIdle(): number {
    const start = Math.floor(Math.random() * this.keys)
    let soonest = NONE
    for (let i = 0, seen = 0; i < this.keys && (seen < SAMPLE || soonest === NONE); i++, seen++) {
      const record = (start + i) % this.keys
      if (this.held[record]! > 0) continue
      if (soonest === NONE || this.idleAt[record]! < this.idleAt[soonest]!) soonest = record
    }
    return soonest
  }

  /** Makes a record free. */
  #drop(record: number): void {
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

function bucketsFor(keys: number): number {
  return keys * 2 + 1
}
