import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto'
import type { EcdsaSignature, Erc6492Signature, Signature } from './gen/example/v1/backend_pb.ts'

/** The longest DER public key that is parsed. One on secp256k1 has 88 bytes; a long one of another kind is not worth it. */
const MAX_PUBLIC_KEY_BYTES = 128

/** A signature is valid, and its signer is `identifier`; or it is not, and `reason` says why. */
export type Verdict = { valid: true; identifier: string } | { valid: false; reason: string }

/** The bytes that the signatures of an identity update sign. */
export function identityUpdateMessage(inboxId: string): Uint8Array {
  return Buffer.from(`example.v1.IdentityUpdate\n${inboxId}`, 'utf8')
}

/** Verifies a signature of either kind over `message`. */
export function verifySignature(message: Uint8Array, signature: Signature): Verdict {
  switch (signature.kind.case) {
    case 'ecdsa':
      return verifyEcdsa(message, signature.kind.value)
    case 'erc6492':
      return verifyWallet(message, signature.kind.value)
    default:
      return { valid: false, reason: 'no signature' }
  }
}

/** Verifies ECDSA on secp256k1 over SHA-256 of `message`. */
export function verifyEcdsa(message: Uint8Array, { publicKey, signature }: EcdsaSignature): Verdict {
  const key = parseKey(publicKey)
  if (!key) return { valid: false, reason: 'the public key is not a DER key on secp256k1' }
  if (signature.length !== 64) return { valid: false, reason: 'the signature does not have 64 bytes' }
  if (!verify('sha256', message, { key, dsaEncoding: 'ieee-p1363' }, signature)) {
    return { valid: false, reason: 'the signature does not match the message and the key' }
  }
  return { valid: true, identifier: identifierOf(publicKey) }
}

/**
 * Verifies a signature of a smart contract wallet. A real backend would call the contract, or its factory, on a chain;
 * here a local computation stands in for that call (see `walletAccount`).
 */
export function verifyWallet(message: Uint8Array, { chainId, account, owner }: Erc6492Signature): Verdict {
  if (!owner) return { valid: false, reason: 'no signature of the owner' }
  if (!walletAccount(chainId, owner.publicKey).equals(account)) {
    return { valid: false, reason: 'the account is not the one that this owner has on this chain' }
  }
  const verdict = verifyEcdsa(message, owner)
  return verdict.valid ? { valid: true, identifier: `0x${Buffer.from(account).toString('hex')}` } : verdict
}

/** The account of an owner on a chain: the last 20 bytes of SHA-256 over the chain id (8 bytes) and the public key. */
export function walletAccount(chainId: bigint, ownerPublicKey: Uint8Array): Buffer {
  const chain = Buffer.alloc(8)
  chain.writeBigUInt64BE(chainId)
  return createHash('sha256').update(chain).update(ownerPublicKey).digest().subarray(-20)
}

function identifierOf(publicKey: Uint8Array): string {
  return `0x${createHash('sha256').update(publicKey).digest().subarray(-20).toString('hex')}`
}

function parseKey(der: Uint8Array): KeyObject | undefined {
  if (der.length > MAX_PUBLIC_KEY_BYTES) return undefined
  try {
    const key = createPublicKey({ key: Buffer.from(der), format: 'der', type: 'spki' })
    return key.asymmetricKeyDetails?.namedCurve === 'secp256k1' ? key : undefined
  } catch {
    return undefined
  }
}
