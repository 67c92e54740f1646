import type { Clock } from '../clock/clock.ts'
import type { EarnedBackLimit } from '../limit/earned-back.ts'
import type { Instant } from '../limit/instant.ts'
import { type CountedLimit, isEarnedBack } from '../limit/limit.ts'
import type { Account } from './account.ts'
import { AccountList } from './account-list.ts'
import type { Fingerprint, FingerprintBuffer } from './fingerprint.ts'
import { emptyFingerprint, Fingerprinter } from './fingerprint.ts'
import type { Exceeded, Meter, Remaining } from './meter.ts'
import type { Overflow } from './records.ts'
import { type Ask, RecordsMeter } from './records-meter.ts'
import { GROUP_BYTES, Table } from './table.ts'
import { TableMeter } from './table-meter.ts'
import { Timeline } from './timeline.ts'

/** A limit that did not admit a spend, and the bound that it is one of. */
export interface BoundExceeded extends Exceeded {
  readonly bound: string
}

/** What is held in some accounts until it is committed or released. */
export interface HeldSpend {
  readonly accounts: readonly Account[]
  readonly places: readonly number[]
  readonly units: number
}

/** How many keys a meter keeps apart, and what becomes of those beyond. */
export interface MeterOptions {
  /** 0: where there is one only. */
  readonly keys: number
  readonly overflow: Overflow
}

/** What the options ask for takes of the `first` part, whose rest is the table's; what is made while the app runs, of what is `kept`. */
export type Part = 'first' | 'kept'

/** The memory of a meter that has its own, and which part it was taken from. */
interface Owned {
  readonly part: Part
  readonly memory: { readonly bytes: number; readonly forgotten: number }
}

/** Thrown when what meters must remember does not fit into the memory that there is. */
export class LedgerFullError extends Error {
  override readonly name = 'LedgerFullError'
  readonly needed: number
  readonly available: number
  readonly part: Part

  constructor(needed: number, available: number, part: Part) {
    super(`needs ${needed} bytes, of which ${available} are available`)
    this.needed = needed
    this.available = available
    this.part = part
  }
}

/** The least that is left to the table, of all memory that is larger. */
const MIN_TABLE_BYTES = 64 * 1024

/** How often a spend is weighed again when an epoch has begun meanwhile. */
const MOST_TRIES = 4

/**
 * The ledger in this process's memory, of a fixed size (RATE-050). Synchronous; an admitted spend under limits that are
 * earned back allocates nothing.
 */
export class MemoryLedger {
  readonly #bytes: number
  readonly #keptBytes: number
  readonly #minTableBytes: number
  readonly #timeline: Timeline
  readonly #fingerprinter = new Fingerprinter()
  /** Whether the source of an epoch is being asked. */
  #isAsking = false
  readonly #ask: Ask = (source) => {
    this.#isAsking = true
    try {
      return source()
    } finally {
      this.#isAsking = false
    }
  }
  /** Of the account that is spent in. */
  readonly #print = emptyFingerprint()
  /** What meters have for themselves. */
  readonly #owned = new Map<Meter, Owned>()
  /** Bytes taken, of the memory without what is kept and of that. */
  readonly #taken: Record<Part, number> = { first: 0, kept: 0 }
  #forgottenByDisposed = 0
  #table: Table | undefined

  /**
   * @param bytes The memory that all records may take.
   * @param keptBytes How much of it is kept for meters that ask for that part, whenever they are made.
   */
  constructor(bytes: number, keptBytes: number, clock: Clock) {
    this.#bytes = bytes
    this.#minTableBytes = Math.min(bytes, MIN_TABLE_BYTES)
    this.#keptBytes = Math.min(keptBytes, bytes - this.#minTableBytes)
    this.#timeline = new Timeline(clock)
  }

  /** The fingerprint that a key is recorded under. Worth keeping: it costs as much as a spend. */
  fingerprint(key: string): Fingerprint {
    return this.#fingerprinter.of(key)
  }

  /** Writes that of a key of one or two parts and of a kind of its own (1 … 3). */
  fingerprintInto(print: FingerprintBuffer, kind: number, first: string, second?: string): void {
    this.#fingerprinter.into(print, kind, first, second)
  }

  /**
   * A meter for one list of limits, at most three. Without `options`, which limits of other kinds need, its keys share the
   * table with those of all such meters.
   * @param wanted Where its memory is taken from: what is kept, or what the table is made of when it is first needed, and
   * which has room left until then, for what does not fit into what is kept.
   * @throws LedgerFullError
   */
  meter(limits: readonly CountedLimit[], options: MeterOptions | undefined, wanted: Part = 'first'): Meter {
    if (options === undefined) {
      return new TableMeter(limits as readonly EarnedBackLimit[], () => this.#allocatedTable())
    }
    // For one key a table of its own is as good as a record, and faster.
    const earnedBack = options.keys === 0 && limits.every(isEarnedBack) ? limits : undefined
    const bytes = earnedBack ? GROUP_BYTES : RecordsMeter.bytes(limits, options.keys)
    const part = bytes > this.#available(wanted) ? 'first' : wanted
    const available = this.#available(part)
    if (bytes > available) throw new LedgerFullError(bytes, this.#available(wanted), wanted)
    this.#taken[part] += bytes
    if (earnedBack !== undefined) {
      const table = new Table(GROUP_BYTES)
      return this.#owning(new TableMeter(earnedBack, () => table), part, table)
    }
    const meter = new RecordsMeter(limits, options.keys, options.overflow, this.#ask)
    return this.#owning(meter, part, meter)
  }

  /** Gives the memory of a meter back, which must not be used any more. */
  dispose(meter: Meter): void {
    const owned = this.#owned.get(meter)
    if (owned === undefined) return
    this.#owned.delete(meter)
    this.#taken[owned.part] -= owned.memory.bytes
    this.#forgottenByDisposed += owned.memory.forgotten
  }

  /**
   * Records one spend in every account, or, when one does not admit it, in none and returns why.
   * @param cost Whole units, 0 … 2⁵³ − 1. A spend of 0 is always admitted and leaves no trace.
   */
  spend(accounts: AccountList | readonly Account[], cost: number): BoundExceeded[] | undefined {
    if (cost === 0 || accounts.length === 0) return undefined
    const now = this.#now()
    if (!(accounts instanceof AccountList)) return spendOneByOne(accounts, cost, now)
    if (accounts.isInTables && this.#spendAtOnce(accounts, cost, now)) return undefined
    return spendOneByOne(accounts.all, cost, now)
  }

  /** The same for one account, of which no list is made. The fingerprint may be overwritten by whatever the limits ask. */
  spendOne(bound: string, meter: Meter, key: Fingerprint, cost: number): BoundExceeded[] | undefined {
    if (cost === 0) return undefined
    const print = meter instanceof TableMeter ? key : { a: key.a, b: key.b, c: key.c, d: key.d }
    const now = this.#now()
    return meter.spend(print, cost, now) ? undefined : spendOneByOne([{ bound, meter, print }], cost, now)
  }

  /** Why a spend would not be admitted now; undefined, if it would. Records nothing. */
  check(accounts: readonly Account[], cost: number, heldAsSpent = false): BoundExceeded[] | undefined {
    if (cost === 0) return undefined
    return exceededBy(accounts, cost, this.#now(), heldAsSpent)
  }

  /**
   * Holds units in every account, or, when one does not admit them, in none and returns why.
   * @param heldAsSpent Whether delays take what is held for spent now: where it is held for a moment only.
   */
  hold(accounts: readonly Account[], units: number, heldAsSpent: boolean): HeldSpend | BoundExceeded[] {
    if (units === 0) return { accounts: [], places: [], units }
    const now = this.#now()
    const exceeded = exceededBy(accounts, units, now, heldAsSpent)
    if (exceeded !== undefined) return exceeded
    return { accounts, places: accounts.map(({ meter, print }) => meter.hold(print, units, now)), units }
  }

  /** Gives back what is held, as if it had never been. Once. */
  release({ accounts, places, units }: HeldSpend): void {
    accounts.forEach(({ meter, print }, i) => {
      meter.release(print, places[i]!, units)
    })
  }

  /** Records now what was held. Once. */
  commit({ accounts, places, units }: HeldSpend): void {
    const now = this.#now()
    accounts.forEach(({ meter, print }, i) => {
      meter.commit(print, places[i]!, units, now)
    })
  }

  /** What is left in an account under each of its limits. */
  remaining({ meter, print }: Account): Remaining[] {
    return meter.remaining(print, this.#now())
  }

  /** The same, and in how many whole ms more than that fits; null: it cannot be said. All at one moment. */
  outlook({ meter, print }: Account): (Remaining & { readonly moreInMs: number | null })[] {
    const now = this.#now()
    return meter.remaining(print, now).map((left) => {
      const exceeded = meter.weigh(print, left.units + 1, now) ? [] : meter.exceeded(print, left.units + 1, now, true)
      return { ...left, moreInMs: exceeded.find(({ limit }) => limit === left.limit)?.retryDelayMs ?? null }
    })
  }

  /**
   * `slots`: how many keys the table can remember at a time; `bytes`: the memory that all takes; `forgotten`: how often a
   * key's spends were forgotten before they were earned back (RATE-051).
   */
  stats(): { slots: number; bytes: number; forgotten: number } {
    const { slots, bytes, forgotten } = this.#allocatedTable()
    let all = forgotten + this.#forgottenByDisposed
    for (const { memory } of this.#owned.values()) all += memory.forgotten
    return { slots, bytes: bytes + this.#taken.first + this.#taken.kept, forgotten: all }
  }

  /** Spends in all accounts, one after the other, if that is simple; otherwise in none. */
  #spendAtOnce(accounts: AccountList, units: number, now: Readonly<Instant>): boolean {
    const print = this.#print
    // All of them first, so that their slots are waited for together.
    for (let i = 0; i < accounts.length; i++) {
      accounts.printInto(print, i)
      if (!(accounts.meter(i) as TableMeter).isReady(print)) return false
    }
    for (let i = 0; i < accounts.length; i++) {
      if ((accounts.meter(i) as TableMeter).spendAtOnce(units, now)) continue
      for (let done = 0; done < i; done++) (accounts.meter(done) as TableMeter).takeBack()
      return false
    }
    return true
  }

  #now(): Readonly<Instant> {
    if (this.#isAsking) throw new Error('epoch and nextEpochInMs must not use the limiter whose limits they are of')
    return this.#timeline.read()
  }

  #owning(meter: Meter, part: Part, memory: Owned['memory']): Meter {
    this.#owned.set(meter, { part, memory })
    return meter
  }

  /** Bytes that a further meter may take. */
  #available(part: Part): number {
    if (part === 'kept') return this.#keptBytes - this.#taken.kept
    const table = this.#table?.bytes ?? this.#minTableBytes
    return Math.max(0, this.#bytes - this.#keptBytes - table - this.#taken.first)
  }

  /** What the meters leave is the table's. */
  #allocatedTable(): Table {
    this.#table ??= new Table(Math.max(this.#bytes - this.#taken.first - this.#keptBytes, this.#minTableBytes))
    return this.#table
  }
}

function spendOneByOne(
  accounts: readonly Account[],
  units: number,
  now: Readonly<Instant>,
): BoundExceeded[] | undefined {
  const exceeded = exceededBy(accounts, units, now, false)
  if (exceeded !== undefined) return exceeded
  for (let i = 0; i < accounts.length; i++) {
    const { meter, print } = accounts[i]!
    meter.record(print, units, now)
  }
  return undefined
}

/** The limits that do not admit a spend; undefined, if all do, to whom it may be recorded then. */
function exceededBy(
  accounts: readonly Account[],
  units: number,
  now: Readonly<Instant>,
  heldAsSpent: boolean,
): BoundExceeded[] | undefined {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    if (weigh(accounts, units, now)) return undefined
    const exceeded = accounts.flatMap(({ bound, meter, print }) =>
      meter.exceeded(print, units, now, heldAsSpent).map((one) => ({ bound, ...one })),
    )
    if (exceeded.length > 0) return exceeded
    // An epoch has begun since it was weighed.
  }
  throw new Error(
    'epoch: the source returns another number each time that it is asked, so that no spend can be decided',
  )
}

function weigh(accounts: readonly Account[], units: number, now: Readonly<Instant>): boolean {
  let admitted = true
  for (let i = 0; i < accounts.length; i++) {
    const { meter, print } = accounts[i]!
    if (!meter.weigh(print, units, now)) admitted = false
  }
  return admitted
}
