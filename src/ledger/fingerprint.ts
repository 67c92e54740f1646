import { hash, randomBytes } from 'node:crypto'

/** 128 bits that stand for a key, as four 32-bit integers. */
export interface Fingerprint {
  readonly a: number
  readonly b: number
  readonly c: number
  readonly d: number
}

const SECRET_BYTES = 32

/** Makes fingerprints under a random secret of its own, so that nobody can aim at another caller's slot. */
export class Fingerprinter {
  readonly #secret = randomBytes(SECRET_BYTES)
  readonly #scratch: Buffer = Buffer.concat([this.#secret], 1024)

  /** The fingerprint of a key. Strings that differ in any UTF-16 code unit, lone surrogates included, are different keys. */
  of(key: string): Fingerprint {
    const end = SECRET_BYTES + 2 * key.length
    const input = end <= this.#scratch.length ? this.#scratch : Buffer.concat([this.#secret], end)
    // UTF-16, since UTF-8 would make all lone surrogates one.
    input.write(key, SECRET_BYTES, 'utf16le')
    return fromBytes(hash('sha256', input.subarray(0, end), 'buffer'))
  }
}

/** A random fingerprint, which stands for no key: XORed with those of keys, it keeps them apart from others. */
export function randomSalt(): Fingerprint {
  return fromBytes(randomBytes(16))
}

/** The first 128 bits of `bytes`. */
function fromBytes(bytes: Buffer): Fingerprint {
  return { a: bytes.readInt32LE(0), b: bytes.readInt32LE(4), c: bytes.readInt32LE(8), d: bytes.readInt32LE(12) }
}
