import type { Instant } from '../limit/instant.ts'
import { MAX_LIMITS } from '../limit/ranges.ts'
import type { Fingerprint } from './fingerprint.ts'

const SLOTS_PER_GROUP = 8
/** A slot's body: three words of the fingerprint, and two for each limit's instant. The fourth is its tag. */
const BODY_WORDS = 3 + 2 * MAX_LIMITS
const GROUP_WORDS = SLOTS_PER_GROUP * (1 + BODY_WORDS)

/**
 * A table of fixed size that remembers, per fingerprint, when the spends under up to three limits are earned back
 * (RATE-050 … 052). It is one array, allocated at once: groups of eight slots, of which a fingerprint can live in one
 * group only. A group begins with the tags of its slots, so that a look-up reads one cache line, and one more on a hit.
 *
 * A slot whose instants have all passed is free: nothing else marks it, so that nothing needs to be swept. A slot is
 * named by the index of its body.
 */
export class Table {
  readonly #words: Int32Array
  readonly #groups: number
  #forgotten = 0

  /** @param bytes What the table may take, at least 320 (one group). */
  constructor(bytes: number) {
    this.#groups = Math.floor(bytes / (GROUP_WORDS * Int32Array.BYTES_PER_ELEMENT))
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
    const words = this.#words
    const a = print.a ^ salt.a
    const b = print.b ^ salt.b
    const c = print.c ^ salt.c
    const d = print.d ^ salt.d
    const group = this.#groupOf(a)
    for (let i = 0; i < SLOTS_PER_GROUP; i++) {
      if (words[group + i] === b) {
        const slot = slotOf(group, i)
        if (words[slot] === a && words[slot + 1] === c && words[slot + 2] === d) return slot
      }
    }
    return -1
  }

  /** Whether a slot that was the fingerprint's still is. */
  isAt(slot: number, print: Fingerprint, salt: Fingerprint): boolean {
    const words = this.#words
    return (
      words[slot] === (print.a ^ salt.a) &&
      words[slot + 1] === (print.c ^ salt.c) &&
      words[slot + 2] === (print.d ^ salt.d)
    )
  }

  /**
   * Gives a slot to the fingerprint `print` XOR `salt`, which has none: a free one, or else the one in its group that is
   * earned back soonest (RATE-051). All its instants are reset.
   */
  claim(print: Fingerprint, salt: Fingerprint, now: Readonly<Instant>): number {
    const words = this.#words
    const a = print.a ^ salt.a
    const group = this.#groupOf(a)
    let index = 0
    let soonestHigh = Number.POSITIVE_INFINITY
    let soonestLow = 0
    for (let i = 0; i < SLOTS_PER_GROUP; i++) {
      // When all spends of the slot are earned back: the latest of its instants, which order as their two words do.
      let high = 0
      let low = 0
      const body = slotOf(group, i)
      for (let at = body + 3; at < body + BODY_WORDS; at += 2) {
        const otherHigh = words[at]! >>> 0
        const otherLow = words[at + 1]! >>> 0
        if (otherHigh > high || (otherHigh === high && otherLow > low)) {
          high = otherHigh
          low = otherLow
        }
      }
      if (high < soonestHigh || (high === soonestHigh && low < soonestLow)) {
        soonestHigh = high
        soonestLow = low
        index = i
      }
    }
    const nowHigh = highWord(now)
    if (soonestHigh > nowHigh || (soonestHigh === nowHigh && soonestLow > lowWord(now) >>> 0)) this.#forgotten += 1
    words[group + index] = print.b ^ salt.b
    const slot = slotOf(group, index)
    words.fill(0, slot, slot + BODY_WORDS)
    words[slot] = a
    words[slot + 1] = print.c ^ salt.c
    words[slot + 2] = print.d ^ salt.d
    return slot
  }

  /** Reads when the spends under limit number `limit` of a slot are earned back. */
  readInto(slot: number, limit: number, instant: Instant): void {
    const at = slot + 3 + 2 * limit
    const low = this.#words[at + 1]!
    instant.seconds = (this.#words[at]! >>> 0) * 4 + (low >>> 30)
    instant.nanos = low & 0x3fff_ffff
  }

  /** Records when the spends under limit number `limit` of a slot are earned back. */
  write(slot: number, limit: number, instant: Readonly<Instant>): void {
    const at = slot + 3 + 2 * limit
    this.#words[at] = highWord(instant)
    this.#words[at + 1] = lowWord(instant)
  }

  /** The first word of the group in which a fingerprint that begins with `a` lives. */
  #groupOf(a: number): number {
    return Math.floor(((a >>> 0) * this.#groups) / 2 ** 32) * GROUP_WORDS
  }
}

function slotOf(group: number, index: number): number {
  return group + SLOTS_PER_GROUP + index * BODY_WORDS
}

/** An instant is stored in 64 bits, 34 of seconds and 30 of nanoseconds: this is the upper half, 0 … 2³² − 1. */
function highWord(instant: Readonly<Instant>): number {
  return Math.floor(instant.seconds / 4)
}

/** The lower half: the last two bits of the seconds, and the nanoseconds, as a signed 32-bit integer. */
function lowWord(instant: Readonly<Instant>): number {
  return ((instant.seconds - highWord(instant) * 4) << 30) | instant.nanos
}
