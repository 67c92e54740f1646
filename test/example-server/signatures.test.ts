import { generateKeyPairSync, sign } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import t from 'tap'
import { SignatureSchema } from '../../example-server/gen/example/v1/backend_pb.ts'
import { verifyEcdsa, verifySignature, verifyWallet } from '../../example-server/signatures.ts'
import { answer, createSigner, identityUpdate, message, start } from './harness.ts'

const bytes = Buffer.from('a message')
const signer = createSigner()
const ecdsa = { $typeName: 'example.v1.EcdsaSignature', ...signer.ecdsa(bytes) } as const

t.test('signatures of owners', async (t) => {
  t.match(verifyEcdsa(bytes, ecdsa), { valid: true, identifier: /^0x[0-9a-f]{40}$/ })
  t.match(verifyEcdsa(Buffer.from('another'), ecdsa), { valid: false, reason: /does not match/ })
  t.match(verifyEcdsa(bytes, { ...ecdsa, signature: new Uint8Array(63) }), { valid: false, reason: /64 bytes/ })
  t.match(verifyEcdsa(bytes, { ...ecdsa, signature: new Uint8Array(64) }), { valid: false, reason: /does not match/ })
  for (const publicKey of [new Uint8Array(), new Uint8Array(88), new Uint8Array(100_000), p256().publicKey]) {
    t.match(verifyEcdsa(bytes, { ...ecdsa, publicKey }), { valid: false, reason: /secp256k1/ })
  }
  t.match(verifySignature(bytes, create(SignatureSchema)), { valid: false, reason: 'no signature' })
})

t.test('signatures of wallets', async (t) => {
  const wallet = signer.wallet(bytes, 7n)
  t.match(verifyWallet(bytes, wallet), { valid: true, identifier: `0x${Buffer.from(wallet.account).toString('hex')}` })
  t.match(verifyWallet(bytes, { ...wallet, chainId: 8n }), { valid: false, reason: /account/ })
  t.match(verifyWallet(bytes, { ...wallet, account: new Uint8Array(20) }), { valid: false, reason: /account/ })
  t.match(verifyWallet(Buffer.from('another'), wallet), { valid: false, reason: /does not match/ })
  const { owner, ...ownerless } = wallet
  t.match(verifyWallet(bytes, ownerless), { valid: false, reason: /owner/ })
  t.match(verifyWallet(bytes, { ...wallet, chainId: 2n ** 64n - 1n, account: new Uint8Array(3) }), { valid: false })
})

t.test('an identity update associates its signers, or is refused with everything beside it', async (t) => {
  const { clients, store } = await start(t)
  const { backend } = clients[0]!
  await backend.publish({
    envelopes: [identityUpdate('an inbox', [signer.signUpdate('an inbox'), signer.signUpdateAsWallet('an inbox')])],
  })
  const verdict = verifyEcdsa(bytes, ecdsa)
  const identifiers = [
    verdict.valid ? verdict.identifier : '',
    `0x${Buffer.from(signer.wallet(bytes).account).toString('hex')}`,
    '0x00',
  ]
  const { inboxIds } = await backend.getInboxIds({ identifiers })
  t.match(inboxIds, [
    { identifier: identifiers[0], inboxId: 'an inbox' },
    { identifier: identifiers[1], inboxId: 'an inbox' },
  ])
  t.equal(inboxIds.length, 2)

  const forged = { envelopes: [message(), identityUpdate('another inbox', [signer.signUpdate('an inbox')])] }
  t.equal(await answer(backend.publish(forged)), 'invalid_argument')
  await t.rejects(backend.publish(forged), {
    message: /envelopes\[1\]\.identity_update\.signatures\[0\]: .*does not match/,
  })
  t.equal(store.count('envelopes'), 1)
})

function p256() {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return {
    publicKey: new Uint8Array(publicKey.export({ format: 'der', type: 'spki' })),
    signature: sign('sha256', bytes, { key: privateKey, dsaEncoding: 'ieee-p1363' }),
  }
}
