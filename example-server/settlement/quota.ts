import { type Clock, createLimiter, type Limit, type Limiter, type ResolvedCaller } from '../../src/index.ts'
import type { Epochs } from './epochs.ts'
import { certificateDisabled, certificateRateLimited, txDisabled, txRateLimited } from './rate-limited.ts'
import type { CertificateRate, Rates, TxLimit, TxRate } from './rates.ts'
import type { MethodName } from './submission.ts'

/** Room for one settlement, which counts in full while it is open. */
export interface Slot {
  /** It has been settled, and counts from now on. */
  commit(): void
  /** It has not. The room is given back. */
  release(): void
}

interface Account extends Rates {
  readonly caller: ResolvedCaller
  /** How many certificates are being settled. */
  openCertificates: number
}

const TX = 'send_tx'
const CERTIFICATE = 'send_certificate'
/** What the limiter takes, at most, for each limit, and for each settlement of an interval. */
const BYTES_PER_LIMIT = 40
const BYTES_PER_SETTLEMENT = 32

/**
 * Says which networks may settle now. A call costs its network one unit of the category of its method. No spend is part of a
 * request, since a settlement goes on when the client of its request has gone.
 */
export class Quota {
  readonly #limiter: Limiter
  readonly #accounts: ReadonlyMap<number, Account>

  /** @param networks All that will ever reserve. */
  constructor(networks: ReadonlyMap<number, { readonly rates: Rates }>, epochs: Epochs, clock: Clock) {
    const entries = [...networks].map(([id, { rates }]) => {
      // A network is known by its key, as the callers of other servers are by theirs.
      return { id, rates, caller: { type: 'api_key', name: String(id) } as const }
    })
    this.#limiter = createLimiter({
      clock,
      rateLimits: {
        maxMemoryMib: memoryMib(entries.map(({ rates }) => rates)),
        categories: { [TX]: { default: [] }, [CERTIFICATE]: { default: [] } },
        overrides: entries.map(({ caller, rates }) => ({
          caller,
          categories: { [TX]: txLimits(rates.sendTx), [CERTIFICATE]: certificateLimits(rates.sendCertificate, epochs) },
        })),
      },
    })
    this.#accounts = new Map(
      entries.map(({ id, rates, caller }) => [
        id,
        { ...rates, caller: this.#limiter.resolve(caller), openCertificates: 0 },
      ]),
    )
  }

  /**
   * Takes room for one settlement of a network.
   * @throws {RpcError} -10007, when there is none. Nothing is taken then.
   */
  reserve(method: MethodName, networkId: number): Slot {
    const account = this.#accounts.get(networkId)!
    return method === 'sendTx' ? this.#reserveTx(account) : this.#reserveCertificate(account)
  }

  #reserveTx(account: Account): Slot {
    const { caller, sendTx: limit } = account
    if (typeof limit === 'object') {
      // Where there is a certificate, no transaction has been let in since the last interval passed: this is the only wait.
      const waitMs = this.#untilCertificatesArePast(account)
      if (waitMs !== 0) throw txRateLimited(limit, waitMs, AFTER_A_CERTIFICATE)
    }
    const result = this.#limiter.reserve(caller, TX, 1)
    if (result.admitted) return result.reservation
    if (typeof limit === 'string') throw txDisabled()
    throw txRateLimited(limit, result.denial.retryDelayMs, inWords(limit))
  }

  #reserveCertificate(account: Account): Slot {
    const limit = account.sendCertificate
    if (typeof limit === 'object' && !this.#transactionsArePast(account)) {
      throw certificateRateLimited(limit, AFTER_A_TRANSACTION)
    }
    const result = this.#limiter.reserve(account.caller, CERTIFICATE, 1)
    if (result.admitted) return counted(account, result.reservation)
    if (typeof limit === 'string') throw certificateDisabled()
    throw certificateRateLimited(
      limit,
      `this network may settle ${limit.maxPerEpoch} × by sendCertificate in each epoch`,
    )
  }

  /**
   * Milliseconds until there is no certificate open or settled in this epoch; null: that cannot be said. Where certificates
   * are not limited, there is no limit that one could get around by them.
   */
  #untilCertificatesArePast({ caller, sendCertificate: limit, openCertificates }: Account): number | null {
    if (typeof limit === 'string') return 0
    const [left] = this.#limiter.remaining(caller, CERTIFICATE)
    if (left!.units === limit.maxPerEpoch) return 0
    return openCertificates > 0 ? null : left!.fullInMs
  }

  /** Whether no transaction is open, or was settled within the interval. */
  #transactionsArePast({ caller, sendTx: limit }: Account): boolean {
    if (typeof limit === 'string') return true
    const [left] = this.#limiter.remaining(caller, TX)
    return left!.units === limit.maxPerInterval
  }
}

const AFTER_A_CERTIFICATE =
  'a certificate of this network is being settled, or was in this epoch: sendTx is admitted again in a new one'
const AFTER_A_TRANSACTION =
  'a transaction of this network is being settled, or was within the interval: sendCertificate is admitted when all of it has passed'

function counted(account: Account, slot: Slot): Slot {
  account.openCertificates += 1
  return {
    commit() {
      account.openCertificates -= 1
      slot.commit()
    },
    release() {
      account.openCertificates -= 1
      slot.release()
    },
  }
}

function txLimits(rate: TxRate): Limit[] {
  if (rate === 'unlimited') return []
  if (rate === 'disabled') return [{ kind: 'blocked' }]
  return [{ kind: 'sliding_log', count: rate.maxPerInterval, windowSeconds: rate.intervalSeconds }]
}

function certificateLimits(rate: CertificateRate, epochs: Epochs): Limit[] {
  if (rate === 'unlimited') return []
  if (rate === 'disabled') return [{ kind: 'blocked' }]
  const nextEpochInMs = () => epochs.nextInMs?.() ?? null
  return [{ kind: 'epoch', count: rate.maxPerEpoch, epoch: () => epochs.current(), nextEpochInMs }]
}

function memoryMib(rates: readonly Rates[]): number {
  let bytes = 0
  for (const { sendTx, sendCertificate } of rates) {
    if (sendTx !== 'unlimited') bytes += BYTES_PER_LIMIT
    if (sendCertificate !== 'unlimited') bytes += BYTES_PER_LIMIT
    if (typeof sendTx === 'object') bytes += sendTx.maxPerInterval * BYTES_PER_SETTLEMENT
  }
  return 1 + Math.ceil(bytes / 2 ** 20)
}

function inWords({ maxPerInterval, intervalSeconds }: TxLimit): string {
  return `this network may settle ${maxPerInterval} × by sendTx in any ${intervalSeconds} s: it is admitted again when there is room`
}
