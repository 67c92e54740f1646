import { createHash, createPrivateKey, type KeyObject } from 'node:crypto'

/** What DER says of a private key of Ed25519 before its 32 bytes (RFC 8410). */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex')

/** The key that the demo configuration has of each network. Everyone knows it: it is for trying the server out. */
export function demoKey(networkId: number): KeyObject {
  const seed = createHash('sha256').update(`demo key of network ${networkId}, which everyone knows`).digest()
  return createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: 'der', type: 'pkcs8' })
}
