import { createHash, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { canonicalJson, hasNameTwice } from './canonical-json.ts'
import type { Submission } from './submission.ts'

const IDENTITY = /^[0-9a-f]{64}$/
const SIGNATURE = /^[0-9a-f]{128}$/

/** What a signature is for, so that one of an acknowledgement is none of a message. */
export type Purpose = 'message' | 'ack'

/** The id of what its sender has signed; or that it has not; or that this has no canonical text, which could be signed. */
export type Verdict = { id: string } | 'forged' | 'ambiguous'

/** An identity is an Ed25519 public key: its 32 bytes (RFC 8032), in 64 lower-case hexadecimal digits. */
export function isIdentity(value: unknown): value is string {
  return typeof value === 'string' && IDENTITY.test(value)
}

/** The identity of a key pair, by its public key. */
export function identityOf(publicKey: KeyObject): string {
  return Buffer.from(publicKey.export({ format: 'jwk' }).x!, 'base64url').toString('hex')
}

/** The public key of an identity, as a JSON Web Key (RFC 8037). */
export function keyOf(identity: string) {
  return { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(identity, 'hex').toString('base64url') }
}

/**
 * Whether `signature` is the sender's: Ed25519, in 128 lower-case hexadecimal digits, over the UTF-8 bytes of
 * `relay message` or `relay ack`, a line feed, and the canonical text of all other fields.
 */
export function verifySubmission({ text, fields = {} }: Submission, purpose: Purpose): Verdict {
  const { sender, signature, ...others } = fields
  if (!isIdentity(sender) || typeof signature !== 'string' || !SIGNATURE.test(signature)) return 'forged'
  const whole = canonicalJson(fields)
  if (whole === undefined || hasNameTwice(text, whole)) return 'ambiguous'
  const signed = { sender, ...others }
  const key = createPublicKey({ key: keyOf(sender), format: 'jwk' })
  if (!verify(null, signedBytes(signed, purpose), key, Buffer.from(signature, 'hex'))) return 'forged'
  return { id: idOf(signed, purpose) }
}

/** The same fields with a signature. Their `sender` is to be the identity of that private key. */
export function signFields<T extends { sender: string }>(fields: T, purpose: Purpose, key: KeyObject) {
  return { ...fields, signature: sign(null, signedBytes(fields, purpose), key).toString('hex') }
}

/** SHA-256 of what is signed, in hexadecimal digits: what is sent again has the id that it had. */
export function idOf(fields: object, purpose: Purpose): string {
  return createHash('sha256').update(signedBytes(fields, purpose)).digest('hex')
}

function signedBytes(fields: object, purpose: Purpose): Buffer {
  return Buffer.from(`relay ${purpose}\n${canonicalJson(fields)}`)
}
