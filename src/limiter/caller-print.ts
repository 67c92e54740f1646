import type { AuthType, Caller } from '../caller/caller.ts'
import type { FingerprintBuffer } from '../ledger/fingerprint.ts'
import type { MemoryLedger } from '../ledger/memory-ledger.ts'

/** Keys of callers of different auth types are never alike (RATE-001), nor like those of bounds, which are of no kind. */
const kinds: { readonly [type in AuthType]: number } = { api_key: 1, jwt: 2, ip: 3 }

/**
 * Writes the fingerprint of a caller: the same for two exactly when `callerKey` is, which is not made for it.
 * @param caller As `normalizeCaller` returns it.
 */
export function callerPrintInto(print: FingerprintBuffer, caller: Caller, ledger: MemoryLedger): void {
  if (caller.type === 'api_key') ledger.fingerprintInto(print, kinds.api_key, caller.name)
  else if (caller.type === 'jwt') ledger.fingerprintInto(print, kinds.jwt, caller.iss ?? '', caller.sub)
  else ledger.fingerprintInto(print, kinds.ip, caller.address)
}
