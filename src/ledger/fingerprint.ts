import { randomBytes } from 'node:crypto'
import { Chaskey } from './chaskey.ts'

/** 128 bits that stand for a key, as four 32-bit integers. */
export interface Fingerprint {
  readonly a: number
  readonly b: number
  readonly c: number
  readonly d: number
}

/** A fingerprint to be written over, again and again: whoever keeps one makes another. */
export type FingerprintBuffer = { -readonly [word in keyof Fingerprint]: Fingerprint[word] }

export function emptyFingerprint(): FingerprintBuffer {
  return { a: 0, b: 0, c: 0, d: 0 }
}

/** Kinds of keys, which are never alike: 0 … 3. */
const PLAIN = 0

/** Words of the message of a key that is not unusually long. */
const SCRATCH_WORDS = 512

/** Makes fingerprints under a random secret of its own, so that nobody can aim at another caller's slot. */
export class Fingerprinter {
  readonly #chaskey = new Chaskey(randomWords())
  readonly #scratch = new Int32Array(SCRATCH_WORDS)
  readonly #code = new Int32Array(4)

  /** The fingerprint of a key. Strings that differ in any UTF-16 code unit, lone surrogates included, are different keys. */
  of(key: string): Fingerprint {
    const print = emptyFingerprint()
    this.into(print, PLAIN, key)
    return print
  }

  /**
   * Writes the fingerprint of a key of one or two parts. Keys that differ in their kind, in a part, or in where one part ends
   * and the other begins, are different.
   * @param kind 1 … 3.
   */
  into(print: FingerprintBuffer, kind: number, first: string, second?: string): void {
    // Two code units a word, of an odd number one more; a word before each part; and three that fill up the last block.
    const words = 2 + (first.length >> 1) + (second === undefined ? 0 : 2 + (second.length >> 1)) + 3
    const message = words <= SCRATCH_WORDS ? this.#scratch : new Int32Array(words)
    // A string has less than 2³⁰ code units: the length and the kind fit into a word.
    message[0] = first.length * 4 + kind
    let end = writeText(message, 1, first)
    if (second !== undefined) {
      message[end] = second.length
      end = writeText(message, end + 1, second)
    }
    const code = this.#code
    this.#chaskey.codeInto(code, message, end)
    print.a = code[0]!
    print.b = code[1]!
    print.c = code[2]!
    print.d = code[3]!
  }
}

/** A random fingerprint, which stands for no key: XORed with those of keys, it keeps them apart from others. */
export function randomSalt(): Fingerprint {
  const [a, b, c, d] = randomWords() as unknown as [number, number, number, number]
  return { a, b, c, d }
}

function randomWords(): Int32Array {
  return new Int32Array(new Uint8Array(randomBytes(16)).buffer)
}

/** Writes each code unit of a text, all 16 bits. Returns where the words end. */
function writeText(message: Int32Array, start: number, text: string): number {
  const even = text.length & ~1
  let at = start
  for (let i = 0; i < even; i += 2) message[at++] = text.charCodeAt(i) | (text.charCodeAt(i + 1) << 16)
  if (even < text.length) message[at++] = text.charCodeAt(even)
  return at
}
