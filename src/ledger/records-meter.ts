import type { Instant } from '../limit/instant.ts'
import type { Kind } from '../limit/kind.ts'
import { kindOf } from '../limit/kind.ts'
import type { CountedLimit } from '../limit/limit.ts'
import type { Fingerprint } from './fingerprint.ts'
import type { Exceeded, Meter, Remaining } from './meter.ts'
import { type Overflow, Records } from './records.ts'

/** One limit of a list, and where its numbers stand among those of a key. */
interface Part {
  readonly limit: CountedLimit
  /** The same, as its kind is asked: an epoch's source by way of `ask`. */
  readonly asked: CountedLimit
  readonly kind: Kind<CountedLimit>
  readonly offset: number
}

/** Calls a source of an epoch. */
export type Ask = <T>(source: () => T) => T

/** The meter of limits of any kind, for a fixed number of keys. */
export class RecordsMeter implements Meter {
  readonly limits: readonly CountedLimit[]
  readonly #parts: readonly Part[]
  readonly #records: Records
  /** Of the key just weighed. */
  #record = 0

  /**
   * @param keys How many keys are kept apart.
   * @param ask What the sources of epochs, which are the app's, are called by.
   */
  constructor(limits: readonly CountedLimit[], keys: number, overflow: Overflow, ask: Ask) {
    this.limits = limits
    let size = 0
    this.#parts = limits.map((limit) => {
      const part = { limit, asked: askedBy(ask, limit), kind: kindOf(limit), offset: size }
      size += part.kind.size(limit)
      return part
    })
    this.#records = new Records(
      keys,
      size,
      overflow,
      (record, now) => this.#idleAt(record, now),
      (record, now) => this.#usedOf(record, now),
    )
  }

  /** Bytes that the meter of such a list takes, all allocated when it is made. */
  static bytes(limits: readonly CountedLimit[], keys: number): number {
    return Records.bytes(
      keys,
      limits.reduce((size, limit) => size + kindOf(limit).size(limit), 0),
    )
  }

  get bytes(): number {
    return this.#records.bytes
  }

  /** How many times the spends of a key were forgotten before they ceased to count. */
  get forgotten(): number {
    return this.#records.forgotten
  }

  weigh(print: Fingerprint, units: number, now: Readonly<Instant>): boolean {
    this.#record = this.#records.find(print, now)
    for (const part of this.#parts) if (!this.#fits(part, units, now)) return false
    return true
  }

  record(print: Fingerprint, units: number, now: Readonly<Instant>): void {
    this.#write(this.#records.claim(print, now), units, now)
  }

  spend(print: Fingerprint, units: number, now: Readonly<Instant>): boolean {
    if (!this.weigh(print, units, now)) return false
    this.record(print, units, now)
    return true
  }

  exceeded(_print: Fingerprint, units: number, now: Readonly<Instant>, heldAsSpent: boolean): Exceeded[] {
    const { state } = this.#records
    const held = this.#records.held[this.#record]!
    return this.#parts.flatMap((part) => {
      if (this.#fits(part, units, now)) return []
      const { limit, asked, kind } = part
      const at = this.#at(part, this.#record)
      if (held === 0 || !heldAsSpent) {
        return { limit, retryDelayMs: kind.retryDelayMs(asked, state, at, now, units, held) }
      }
      const after = state.slice(at, at + kind.size(limit))
      kind.record(asked, after, 0, now, held)
      return { limit, retryDelayMs: kind.retryDelayMs(asked, after, 0, now, units, 0) }
    })
  }

  hold(print: Fingerprint, units: number, now: Readonly<Instant>): number {
    const record = this.#records.claim(print, now)
    this.#records.hold(record, units)
    return record
  }

  release(_print: Fingerprint, record: number, units: number): void {
    this.#records.release(record, units)
  }

  commit(_print: Fingerprint, record: number, units: number, now: Readonly<Instant>): void {
    // In this order: a record that holds nothing may be given away.
    this.#write(record, units, now)
    this.#records.release(record, units)
  }

  remaining(print: Fingerprint, now: Readonly<Instant>): Remaining[] {
    const record = this.#records.find(print, now)
    const { state } = this.#records
    const held = this.#records.held[record]!
    return this.#parts.map((part) => {
      const { limit, asked, kind } = part
      const at = this.#at(part, record)
      return {
        limit,
        units: kind.remainingUnits(asked, state, at, now, held),
        fullInMs: kind.fullInMs(asked, state, at, now),
      }
    })
  }

  #fits(part: Part, units: number, now: Readonly<Instant>): boolean {
    const { state, held } = this.#records
    return part.kind.fits(part.asked, state, this.#at(part, this.#record), now, units, held[this.#record]!)
  }

  #write(record: number, units: number, now: Readonly<Instant>): void {
    for (const part of this.#parts) {
      part.kind.record(part.asked, this.#records.state, this.#at(part, record), now, units)
    }
    this.#records.recorded(record, now)
  }

  /** The part of its limits that a record has used: 0 … 1, of the one of which it is most. */
  #usedOf(record: number, now: Readonly<Instant>): number {
    const { state } = this.#records
    let used = 0
    for (const part of this.#parts) {
      const { limit, kind } = part
      // What epochs say is asked for as little as can be.
      if (!('windowSeconds' in limit)) continue
      used = Math.max(used, 1 - kind.remainingUnits(limit, state, this.#at(part, record), now, 0) / limit.count)
    }
    return used
  }

  /** From when on nothing that a record says counts any more, in seconds; Infinity: it cannot be said. */
  #idleAt(record: number, now: Readonly<Instant>): number {
    const { state } = this.#records
    let longest = 0
    try {
      for (const part of this.#parts) {
        const { asked, kind } = part
        const at = this.#at(part, record)
        longest = Math.max(longest, kind.fullInMs(asked, state, at, now) ?? Number.POSITIVE_INFINITY)
      }
    } catch {
      // The source of an epoch. The spend, some of which is recorded already, does not fail for it.
      return Number.POSITIVE_INFINITY
    }
    return longest === 0 ? 0 : now.seconds + (now.nanos / 1e6 + longest) / 1000
  }

  #at({ offset }: Part, record: number): number {
    return this.#records.at(record) + offset
  }
}

function askedBy(ask: Ask, limit: CountedLimit): CountedLimit {
  if (limit.kind !== 'epoch') return limit
  const epoch = () => limit.epoch()
  const nextEpochInMs = () => limit.nextEpochInMs?.() ?? null
  return { ...limit, epoch: () => ask(epoch), nextEpochInMs: () => ask(nextEpochInMs) }
}
