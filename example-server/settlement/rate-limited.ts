import { RpcError } from './json-rpc.ts'
import type { CertificateLimit, TxLimit } from './rates.ts'

/** Why a call is refused, by the one name of its reason. */
type Reason =
  | { 'send-tx-disabled': Record<string, never> }
  | { 'send-tx-rate-limited': { 'max-per-interval': number; 'time-interval': number; 'until-next': number | null } }
  | { 'send-certificate-disabled': Record<string, never> }
  | { 'send-certificate-rate-limited': { 'max-per-epoch': number } }

/** The error of every call that the limits refuse. */
const RATE_LIMITED = -10007

export function txDisabled(): RpcError {
  return rateLimited({ 'send-tx-disabled': {} }, 'this network may not settle by sendTx')
}

/** @param waitMs After this long the call is expected to be admitted; null: that cannot be said. */
export function txRateLimited(limit: TxLimit, waitMs: number | null, why: string): RpcError {
  // Rounded up, so that one who waits that long is admitted.
  const seconds = waitMs === null ? null : Math.ceil(waitMs / 1000)
  const reason = {
    'max-per-interval': limit.maxPerInterval,
    'time-interval': limit.intervalSeconds,
    'until-next': seconds,
  }
  const when = seconds === null ? '; when that will be cannot be said' : `; that will be in ${seconds} s`
  return rateLimited({ 'send-tx-rate-limited': reason }, why + when)
}

export function certificateDisabled(): RpcError {
  return rateLimited({ 'send-certificate-disabled': {} }, 'this network may not settle by sendCertificate')
}

export function certificateRateLimited(limit: CertificateLimit, why: string): RpcError {
  return rateLimited({ 'send-certificate-rate-limited': { 'max-per-epoch': limit.maxPerEpoch } }, why)
}

function rateLimited(error: Reason, detail: string): RpcError {
  return new RpcError(RATE_LIMITED, 'Rate limited', { 'rate-limited': { detail, error } })
}
