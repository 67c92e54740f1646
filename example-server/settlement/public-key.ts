import { createPublicKey, type KeyObject } from 'node:crypto'
import { hide } from '../config-values.ts'

/** A public key of Ed25519, from its 32 bytes in hexadecimal digits; or, as a string, what is wrong with the value. */
export function readPublicKey(value: unknown): KeyObject | string {
  const digits = typeof value === 'string' ? /^(?:0x)?([0-9a-f]{64})$/i.exec(value)?.[1] : undefined
  if (digits === undefined) {
    return `must be the 32 bytes of an Ed25519 public key as 64 hexadecimal digits, 0x before them or not, got ${hide(value)}`
  }
  const x = Buffer.from(digits, 'hex').toString('base64url')
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
}
