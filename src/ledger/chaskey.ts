const ROUNDS = 12

/**
 * Chaskey-12 (ISO/IEC 29192-6; Mouha, "Chaskey: a MAC Algorithm for Microcontrollers: Status Update and Proposal of
 * Chaskey-12", 2015): a message authentication code of 128 bits, made of 32-bit additions, rotations and XORs only, which is
 * what JavaScript is fast at. Without the key nobody can find messages whose codes are alike.
 */
export class Chaskey {
  /** The key, and the two that are made of it for the last block: of one that is full, and of one that was filled up. */
  readonly #key: Int32Array
  readonly #fullKey: Int32Array
  readonly #filledKey: Int32Array

  /** @param key 128 bits, as four words. */
  constructor(key: Int32Array) {
    this.#key = key.slice(0, 4)
    this.#fullKey = timesTwo(this.#key)
    this.#filledKey = timesTwo(this.#fullKey)
  }

  /**
   * Writes the code of a message into the first four words of `code`.
   * @param message In little-endian words. What is behind its end is overwritten, up to three words.
   * @param length Of the message, in words, at least 1.
   */
  codeInto(code: Int32Array, message: Int32Array, length: number): void {
    const key = this.#key
    const isFull = (length & 3) === 0
    const lastKey = isFull ? this.#fullKey : this.#filledKey
    let end = length
    if (!isFull) {
      message[end++] = 1
      while ((end & 3) !== 0) message[end++] = 0
    }
    let a = key[0]!
    let b = key[1]!
    let c = key[2]!
    let d = key[3]!
    for (let at = 0; at < end; at += 4) {
      a ^= message[at]!
      b ^= message[at + 1]!
      c ^= message[at + 2]!
      d ^= message[at + 3]!
      if (at + 4 === end) {
        a ^= lastKey[0]!
        b ^= lastKey[1]!
        c ^= lastKey[2]!
        d ^= lastKey[3]!
      }
      for (let round = 0; round < ROUNDS; round++) {
        a = (a + b) | 0
        b = ((b << 5) | (b >>> 27)) ^ a
        a = (a << 16) | (a >>> 16)
        c = (c + d) | 0
        d = ((d << 8) | (d >>> 24)) ^ c
        a = (a + d) | 0
        d = ((d << 13) | (d >>> 19)) ^ a
        c = (c + b) | 0
        b = ((b << 7) | (b >>> 25)) ^ c
        c = (c << 16) | (c >>> 16)
      }
    }
    code[0] = a ^ lastKey[0]!
    code[1] = b ^ lastKey[1]!
    code[2] = c ^ lastKey[2]!
    code[3] = d ^ lastKey[3]!
  }
}

/** A key times x, in the field of 2¹²⁸ elements. */
function timesTwo(key: Int32Array): Int32Array {
  const [a, b, c, d] = key as unknown as [number, number, number, number]
  return Int32Array.of(
    (a << 1) ^ (d < 0 ? 0x87 : 0),
    (b << 1) | (a >>> 31),
    (c << 1) | (b >>> 31),
    (d << 1) | (c >>> 31),
  )
}
