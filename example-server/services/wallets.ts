import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  type BackendService,
  VerifySmartContractWalletSignaturesResponseSchema,
  WalletVerdictSchema,
} from '../gen/example/v1/backend_pb.ts'
import { verifyWallet } from '../signatures.ts'

/** VerifySmartContractWalletSignatures: one verdict for each request. Its `chain_verify` is spent before. */
export function wallets(): Pick<ServiceImpl<typeof BackendService>, 'verifySmartContractWalletSignatures'> {
  return {
    verifySmartContractWalletSignatures({ requests }) {
      const verdicts = requests.map(({ message, signature }) => {
        const verdict = signature ? verifyWallet(message, signature) : { valid: false, reason: 'no signature' }
        return create(WalletVerdictSchema, verdict)
      })
      return create(VerifySmartContractWalletSignaturesResponseSchema, { verdicts })
    },
  }
}
