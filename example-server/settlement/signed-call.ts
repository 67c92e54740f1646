import { createPublicKey, type KeyObject, sign } from 'node:crypto'
import { type MethodName, messageOf, PAYLOADS } from './submission.ts'

/** The params of a call, by name, signed. */
export function signedParams(method: MethodName, networkId: number, payload: Uint8Array, privateKey: KeyObject) {
  return {
    'network-id': networkId,
    [PAYLOADS[method]]: inHex(payload),
    signature: inHex(sign(null, messageOf(method, networkId, payload), privateKey)),
  }
}

/** A public key, as the configuration has it. */
export function publicKeyInHex(key: KeyObject): string {
  const { x } = (key.type === 'private' ? createPublicKey(key) : key).export({ format: 'jwk' })
  return Buffer.from(x!, 'base64url').toString('hex')
}

function inHex(bytes: Uint8Array): string {
  return `0x${Buffer.from(bytes).toString('hex')}`
}
