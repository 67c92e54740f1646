import { type Instant, isLater, LATEST_INSTANT, NANOS_PER_SECOND } from '../limit/instant.ts'
import { MAX_LIMITS } from '../limit/ranges.ts'
import type { Fingerprint } from './fingerprint.ts'
import { PRICE_NUMBERS } from './price-list.ts'

/** In nanoseconds. Named here, as V8 looks up what is imported each time. */
const SECOND = NANOS_PER_SECOND
const SLOTS_PER_GROUP = 8
/** A slot's body, half a cache line: the fingerprint, and two words for each of the first two limits' instants. */
const BODY_WORDS = 8
const PRINT_WORDS = 4
/** With two words for each slot's third instant. */
const GROUP_WORDS = SLOTS_PER_GROUP * (BODY_WORDS + 2)
/** Of the smallest table. */
export const GROUP_BYTES = GROUP_WORDS * Int32Array.BYTES_PER_ELEMENT
/**
 * Where the bodies begin. Large arrays begin 16 bytes behind a page where malloc makes them, and a group is as long as five cache
 * lines: like this, no body stretches over two of them.
 */
const BODIES = 12
const NANOS_BITS = 30
const NANOS_MASK = 2 ** NANOS_BITS - 1

/**
 * A table of fixed size that remembers, per fingerprint, when the spends under up to three limits are earned back
 * (RATE-050 … 052). It is one array, allocated at once: groups of eight slots, of which a fingerprint can live in one
 * group only. There it is at home in one slot, and in another only when that was not free: a look-up mostly reads one cache
 * line, and four where it finds nothing.
 *
 * A slot whose instants have all passed is free: nothing else marks it, so that nothing needs to be swept. A slot is
 * named by the index of its body.
 */
export class Table {
  readonly #words: Int32Array
  readonly #groups: number
  #forgotten = 0
  readonly #latest: Instant = { seconds: 0, nanos: 0 }
  readonly #other: Instant = { seconds: 0, nanos: 0 }
  readonly #soonest: Instant = { seconds: 0, nanos: 0 }

  /** @param bytes What the table may take, at least 320 (one group). */
  constructor(bytes: number) {
    this.#groups = Math.floor(bytes / GROUP_BYTES)
    this.#words = new Int32Array(this.#groups * GROUP_WORDS)
  }

  get slots(): number {
    return this.#groups * SLOTS_PER_GROUP
  }

  get bytes(): number {
    return this.#words.byteLength
  }

  /** How many times a slot was taken from a fingerprint whose spends were not yet earned back. */
  get forgotten(): number {
    return this.#forgotten
  }

  /** The slot of the fingerprint `print` XOR `salt`, or -1. */
  find(print: Fingerprint, salt: Fingerprint): number {
    const home = this.atHome(print, salt)
    if (home !== -1) return home
    const group = this.#groupOf(print.a ^ salt.a)
    for (let i = 0; i < SLOTS_PER_GROUP; i++) {
      const slot = slotOf(group, i)
      if (this.isAt(slot, print, salt)) return slot
    }
    return -1
  }

  /** The slot where the fingerprint `print` XOR `salt` is at home, or -1 where it is not there. */
  atHome(print: Fingerprint, salt: Fingerprint): number {
    const slot = slotOf(this.#groupOf(print.a ^ salt.a), homeOf(print.b ^ salt.b))
    return this.isAt(slot, print, salt) ? slot : -1
  }

  /** Whether a slot is that of the fingerprint `print` XOR `salt`. */
  isAt(slot: number, print: Fingerprint, salt: Fingerprint): boolean {
    const words = this.#words
    return (
      words[slot] === (print.a ^ salt.a) &&
      words[slot + 1] === (print.b ^ salt.b) &&
      words[slot + 2] === (print.c ^ salt.c) &&
      words[slot + 3] === (print.d ^ salt.d)
    )
  }

  /**
   * Gives a slot to the fingerprint `print` XOR `salt`, which has none: a free one, its home if that is, or else the one in its
   * group that is earned back soonest (RATE-051). All its instants are reset.
   */
  claim(print: Fingerprint, salt: Fingerprint, now: Readonly<Instant>): number {
    const words = this.#words
    const a = print.a ^ salt.a
    const b = print.b ^ salt.b
    const slot = this.#freeOrSoonest(this.#groupOf(a), homeOf(b), now)
    words[slot] = a
    words[slot + 1] = b
    words[slot + 2] = print.c ^ salt.c
    words[slot + 3] = print.d ^ salt.d
    for (let at = slot + PRINT_WORDS; at < slot + BODY_WORDS; at++) words[at] = 0
    const third = placeOf(slot, 2)
    words[third] = 0
    words[third + 1] = 0
    return slot
  }

  /** Reads when the spends under limit number `limit` of a slot are earned back. */
  readInto(slot: number, limit: number, instant: Instant): void {
    const words = this.#words
    const at = placeOf(slot, limit)
    const low = words[at + 1]!
    instant.seconds = secondsOf(words[at]!, low)
    instant.nanos = low & NANOS_MASK
  }

  /** Records when the spends under limit number `limit` of a slot are earned back. */
  write(slot: number, limit: number, { seconds, nanos }: Readonly<Instant>): void {
    const words = this.#words
    const at = placeOf(slot, limit)
    words[at] = seconds
    words[at + 1] = lowWord(seconds, nanos)
  }

  /** Copies the instants of the first `limits` limits of a slot into two words each. */
  save(slot: number, limits: number, saved: Int32Array): void {
    for (let limit = 0; limit < limits; limit++) {
      const at = placeOf(slot, limit)
      saved[2 * limit] = this.#words[at]!
      saved[2 * limit + 1] = this.#words[at + 1]!
    }
  }

  /** Gives a slot the instants that were saved of another. */
  restore(slot: number, limits: number, saved: Int32Array): void {
    for (let limit = 0; limit < limits; limit++) {
      const at = placeOf(slot, limit)
      this.#words[at] = saved[2 * limit]!
      this.#words[at + 1] = saved[2 * limit + 1]!
    }
  }

  /**
   * Charges a spend under one limit or two in one go, if it fits and their instants are before 2³¹ s. Returns whether it did; if
   * not, nothing is changed, and it is for `fits` and `charge` to tell why.
   *
   * What this is for is to be short: the next spend begins to load what it needs while the processor waits for this slot,
   * as long as few instructions lie between them.
   * @param prices As of `PriceList`: three numbers for the first limit, and three for the second, which are 0 if there is none.
   */
  chargeInOneGo(slot: number, prices: Float64Array, now: Readonly<Instant>): boolean {
    const words = this.#words
    const nowSeconds = now.seconds
    const nowNanos = now.nanos
    let seconds = words[slot + PRINT_WORDS]!
    let nanos = words[slot + PRINT_WORDS + 1]!
    let seconds2 = words[slot + PRINT_WORDS + 2]!
    let nanos2 = words[slot + PRINT_WORDS + 3]!
    // A negative number of seconds is one of 2³¹ or more, as are those of which bits stand with the nanoseconds.
    if ((seconds | seconds2) < 0 || ((nanos | nanos2) & ~NANOS_MASK) !== 0) return false
    const debtNs = (seconds - nowSeconds) * SECOND + (nanos - nowNanos)
    const debtNs2 = (seconds2 - nowSeconds) * SECOND + (nanos2 - nowNanos)
    if (debtNs > prices[0]! || debtNs2 > prices[3]!) return false
    if (debtNs < 0) {
      seconds = nowSeconds
      nanos = nowNanos
    }
    if (debtNs2 < 0) {
      seconds2 = nowSeconds
      nanos2 = nowNanos
    }
    seconds += prices[1]!
    nanos += prices[2]!
    if (nanos >= SECOND) {
      nanos -= SECOND
      seconds += 1
    }
    seconds2 += prices[4]!
    nanos2 += prices[5]!
    if (nanos2 >= SECOND) {
      nanos2 -= SECOND
      seconds2 += 1
    }
    if (seconds >= 2 ** 31 || seconds2 >= 2 ** 31) return false
    words[slot + PRINT_WORDS] = seconds
    words[slot + PRINT_WORDS + 1] = nanos
    words[slot + PRINT_WORDS + 2] = seconds2
    words[slot + PRINT_WORDS + 3] = nanos2
    return true
  }

  /**
   * Whether a spend fits under the first `limits` limits of a slot (RATE-020).
   * @param prices As of `PriceList`.
   */
  fits(slot: number, limits: number, prices: Float64Array, now: Readonly<Instant>): boolean {
    const words = this.#words
    const nowSeconds = now.seconds
    const nowNanos = now.nanos
    for (let i = 0; i < limits; i++) {
      const at = placeOf(slot, i)
      const low = words[at + 1]!
      const debtNs = (secondsOf(words[at]!, low) - nowSeconds) * SECOND + ((low & NANOS_MASK) - nowNanos)
      if (debtNs > prices[PRICE_NUMBERS * i]!) return false
    }
    return true
  }

  /** Charges a spend that fits, as `chargeInto` does. */
  charge(slot: number, limits: number, prices: Float64Array, now: Readonly<Instant>): void {
    const words = this.#words
    const nowSeconds = now.seconds
    const nowNanos = now.nanos
    for (let i = 0; i < limits; i++) {
      const at = placeOf(slot, i)
      const low = words[at + 1]!
      let seconds = secondsOf(words[at]!, low)
      let nanos = low & NANOS_MASK
      if (seconds < nowSeconds || (seconds === nowSeconds && nanos < nowNanos)) {
        seconds = nowSeconds
        nanos = nowNanos
      }
      seconds += prices[PRICE_NUMBERS * i + 1]!
      nanos += prices[PRICE_NUMBERS * i + 2]!
      if (nanos >= SECOND) {
        nanos -= SECOND
        seconds += 1
      }
      if (seconds > LATEST_INSTANT.seconds) {
        seconds = LATEST_INSTANT.seconds
        nanos = LATEST_INSTANT.nanos
      }
      words[at] = seconds
      words[at + 1] = lowWord(seconds, nanos)
    }
  }

  /** The first free slot of a group, from that at `home` on, or else the one that is earned back soonest. */
  #freeOrSoonest(group: number, home: number, now: Readonly<Instant>): number {
    let soonest = -1
    for (let i = 0; i < SLOTS_PER_GROUP; i++) {
      const slot = slotOf(group, (home + i) % SLOTS_PER_GROUP)
      this.#readLatest(slot)
      if (!isLater(this.#latest, now)) return slot
      if (soonest === -1 || isLater(this.#soonest, this.#latest)) {
        this.#soonest.seconds = this.#latest.seconds
        this.#soonest.nanos = this.#latest.nanos
        soonest = slot
      }
    }
    this.#forgotten += 1
    return soonest
  }

  /** Reads when all spends of a slot are earned back. */
  #readLatest(slot: number): void {
    const latest = this.#latest
    const other = this.#other
    this.readInto(slot, 0, latest)
    for (let limit = 1; limit < MAX_LIMITS; limit++) {
      this.readInto(slot, limit, other)
      if (isLater(other, latest)) {
        latest.seconds = other.seconds
        latest.nanos = other.nanos
      }
    }
  }

  /** The first word of the group in which a fingerprint that begins with `a` lives. */
  #groupOf(a: number): number {
    return Math.floor(((a >>> 0) * this.#groups) / 2 ** 32) * GROUP_WORDS
  }
}

/** In which slot of its group a fingerprint whose second word is `b` is at home. */
function homeOf(b: number): number {
  return b & (SLOTS_PER_GROUP - 1)
}

function slotOf(group: number, index: number): number {
  return group + BODIES + index * BODY_WORDS
}

/** Where the instant of a limit begins. */
function placeOf(slot: number, limit: number): number {
  return limit < 2 ? slot + PRINT_WORDS + 2 * limit : thirdOf(slot)
}

/** Where a slot's third instant begins: behind all bodies of its group and, past the group's end, before them. */
function thirdOf(slot: number): number {
  const group = Math.floor(slot / GROUP_WORDS) * GROUP_WORDS
  const index = (slot - group - BODIES) / BODY_WORDS
  return group + ((BODIES + SLOTS_PER_GROUP * BODY_WORDS + 2 * index) % GROUP_WORDS)
}

/** An instant is stored in two words: the seconds modulo 2³²; and the nanoseconds, above which the other two bits of the seconds are. */
function secondsOf(word: number, low: number): number {
  const high = low >>> NANOS_BITS
  return high === 0 ? word >>> 0 : high * 2 ** 32 + (word >>> 0)
}

function lowWord(seconds: number, nanos: number): number {
  return seconds < 2 ** 32 ? nanos : (Math.floor(seconds / 2 ** 32) << NANOS_BITS) | nanos
}
