import { verify } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from '../../src/index.ts'
import type { Network } from './config.ts'
import { RpcError } from './json-rpc.ts'
import type { Settle } from './l1.ts'
import type { Quota } from './quota.ts'
import type { Settled } from './settled.ts'
import { type MethodName, readSubmission, type Submission } from './submission.ts'

/** What settlements are made with. */
export interface SettlementServices {
  readonly networks: ReadonlyMap<number, Network>
  readonly quota: Quota
  readonly settle: Settle
  readonly settled: Settled
  readonly clock: Clock
  readonly log: FastifyBaseLogger
}

/** Settles what networks submit. */
export class Settlements {
  readonly #services: SettlementServices
  /** Those under way, by the id of the submission. They go on when their callers have gone. */
  readonly #open = new Map<string, Promise<string>>()
  /** By id, those that the L1 has and the store has not. None begins while there are any, so that they do not grow. */
  readonly #unstored = new Map<string, { submission: Submission; hash: string; settledAtMs: number }>()

  constructor(services: SettlementServices) {
    this.#services = services
  }

  /**
   * Settles what the params of a call say, and returns the hash of the transaction on the L1. Who sent it is known before
   * anything is charged. A submission settles once: whoever sends it again, of those who have seen it, charges nobody, also
   * when the store has failed since.
   * @throws {RpcError} when it is not settled.
   */
  submit(method: MethodName, params: unknown): string | Promise<string> {
    const { networks, quota, settled } = this.#services
    const submission = readSubmission(method, params)
    const { id, networkId, message, signature } = submission
    const network = networks.get(networkId)
    if (network === undefined) throw new RpcError(-10001, 'Unknown network')
    if (!verify(null, message, network.publicKey, signature)) throw new RpcError(-10002, 'Invalid signature')
    const hash = this.#unstored.get(id)?.hash ?? settled.find(id)
    if (hash !== undefined) return hash
    if (this.#open.has(id)) throw new RpcError(-10003, 'Settlement under way')
    if (!this.#store()) throw new RpcError(-32603, 'Internal error')
    const slot = quota.reserve(method, networkId)
    const settling = this.#settle(submission, slot).finally(() => this.#open.delete(id))
    this.#open.set(id, settling)
    return settling
  }

  /** Resolves when no settlement is under way, and what could not be stored has been tried once more. */
  async idle(): Promise<void> {
    while (this.#open.size > 0) await Promise.allSettled(this.#open.values())
    this.#store()
  }

  async #settle(submission: Submission, slot: ReturnType<Quota['reserve']>): Promise<string> {
    const { settle, clock, log } = this.#services
    let hash: string
    try {
      hash = await settle(submission)
    } catch (error) {
      slot.release()
      log.warn({ err: error, method: submission.method }, 'the settlement failed')
      throw new RpcError(-10004, 'Settlement failed')
    }
    slot.commit()
    this.#unstored.set(submission.id, { submission, hash, settledAtMs: clock.wall() })
    this.#store()
    return hash
  }

  /** Gives the store what it has not yet taken. False: it does not take it. */
  #store(): boolean {
    const { settled, log } = this.#services
    try {
      for (const [id, { submission, hash, settledAtMs }] of this.#unstored) {
        settled.add(submission, hash, settledAtMs)
        this.#unstored.delete(id)
      }
      return true
    } catch (error) {
      log.error({ err: error }, 'what was settled could not be stored')
      return false
    }
  }
}
