/** How often a network may settle by `sendTx`. */
export type TxRate = 'unlimited' | 'disabled' | TxLimit

/** At most `maxPerInterval` (from 1) in any `intervalSeconds` (from 1). */
export interface TxLimit {
  readonly maxPerInterval: number
  readonly intervalSeconds: number
}

/** How often a network may settle by `sendCertificate`. */
export type CertificateRate = 'unlimited' | 'disabled' | CertificateLimit

/** At most `maxPerEpoch` (from 1) in an epoch. */
export interface CertificateLimit {
  readonly maxPerEpoch: number
}

export interface Rates {
  readonly sendTx: TxRate
  readonly sendCertificate: CertificateRate
}
