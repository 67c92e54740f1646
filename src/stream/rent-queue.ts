import type { Clock } from '../clock/clock.ts'

/** What stands in the queue: a stream that pays again each time that it falls due. */
export interface Tenant {
  /** When its next period begins, on the clock of the queue. Written by the queue alone, as are its neighbours. */
  dueNs: bigint
  previous: Tenant | undefined
  next: Tenant | undefined
  /** Pays for the period that begins now. May remove itself. */
  payPeriod(): void
}

/**
 * Who pays next, of all streams of a plugin, on one timer. All have the same period, so whoever has paid is the last to
 * fall due again: the queue is a list that keeps itself in order, and a stream enters, pays and leaves in constant time.
 */
export class RentQueue {
  readonly #clock: Clock
  readonly #periodNs: bigint
  #first: Tenant | undefined
  #last: Tenant | undefined
  #cancel: (() => void) | undefined
  #isSettling = false
  #size = 0
  #latestNs: bigint

  constructor(clock: Clock, periodNs: bigint) {
    this.#clock = clock
    this.#periodNs = periodNs
    this.#latestNs = clock.now()
  }

  /** How many streams stand in it. */
  get size(): number {
    return this.#size
  }

  /** The stream whose period ends first. */
  get first(): Tenant | undefined {
    return this.#first
  }

  /** A stream has opened, and paid: its periods begin each whole number of periods from now. */
  add(tenant: Tenant): void {
    // Whoever is overdue comes before it, or the order would be lost.
    this.settle()
    this.#append(tenant, this.#latestNs + this.#periodNs)
    this.#size++
    this.#arm()
  }

  /** Lets one that leaves pay for those of its periods that have begun, and removes it. */
  leave(tenant: Tenant): void {
    const now = this.#now()
    while (this.#has(tenant) && tenant.dueNs <= now) {
      tenant.dueNs += this.#periodNs
      tenant.payPeriod()
    }
    this.remove(tenant)
  }

  /** Of one that is not there nothing is removed. */
  remove(tenant: Tenant): void {
    if (!this.#has(tenant)) return
    this.#unlink(tenant)
    this.#size--
    if (this.#first !== undefined) return
    this.#cancel?.()
    this.#cancel = undefined
  }

  /**
   * Lets everybody pay for the periods that have begun, in the order in which they began, and one by one where the timer
   * was late for several. The grid of a stream is never left.
   */
  settle(): void {
    const now = this.#now()
    // A stream that ends for it may end others.
    if (this.#isSettling) return
    this.#isSettling = true
    try {
      for (let due = this.#first; due !== undefined && due.dueNs <= now; due = this.#first) {
        this.#unlink(due)
        this.#append(due, due.dueNs + this.#periodNs)
        due.payPeriod()
      }
    } finally {
      this.#isSettling = false
    }
  }

  /** The timer is never later than the first period that begins; where it is earlier, it only sets itself again. */
  #arm(): void {
    if (this.#first === undefined || this.#cancel !== undefined) return
    this.#cancel = this.#clock.schedule(this.#first.dueNs, () => {
      this.#cancel = undefined
      try {
        this.settle()
      } finally {
        this.#arm()
      }
    })
  }

  #has(tenant: Tenant): boolean {
    return tenant === this.#first || tenant.previous !== undefined
  }

  #append(tenant: Tenant, dueNs: bigint): void {
    tenant.dueNs = dueNs
    tenant.previous = this.#last
    tenant.next = undefined
    if (this.#last === undefined) this.#first = tenant
    else this.#last.next = tenant
    this.#last = tenant
  }

  #unlink(tenant: Tenant): void {
    if (tenant.previous === undefined) this.#first = tenant.next
    else tenant.previous.next = tenant.next
    if (tenant.next === undefined) this.#last = tenant.previous
    else tenant.next.previous = tenant.previous
    tenant.previous = undefined
    tenant.next = undefined
  }

  /** A clock that goes back stands still. */
  #now(): bigint {
    const now = this.#clock.now()
    if (now > this.#latestNs) this.#latestNs = now
    return this.#latestNs
  }
}
