import type { Instant } from '../limit/instant.ts'
import { LATEST_INSTANT } from '../limit/instant.ts'
import { type Fingerprint, randomSalt } from './fingerprint.ts'
import type { Table } from './table.ts'

/** Where the units stand, among the instants of a slot, and where it stands that they are never earned back. */
const UNITS = 0
const NEVER = 1

/** What a slot's first word of an instant leaves to the second: units are written as if they were an instant. */
const LOW = 2 ** 30

/**
 * How many units are held by the keys of one meter, in slots of the fixed table beside those of what was spent. They are
 * earned back last, so that they are forgotten only where a whole group is held.
 */
export class HeldUnits {
  readonly #salt = randomSalt()
  readonly #instant: Instant = { seconds: 0, nanos: 0 }
  #open = 0

  /** Whether no key holds anything. */
  get isNone(): boolean {
    return this.#open === 0
  }

  /** How many units a key holds. */
  of(table: Table, print: Fingerprint): number {
    return this.#open === 0 ? 0 : this.#read(table, table.find(print, this.#salt))
  }

  /** Holds units that are not yet held. */
  hold(table: Table, print: Fingerprint, units: number, now: Readonly<Instant>): void {
    this.#open += 1
    const found = table.find(print, this.#salt)
    const slot = found === -1 ? table.claim(print, this.#salt, now) : found
    this.#write(table, slot, this.#read(table, slot) + units, LATEST_INSTANT)
  }

  /** Gives back units that were held. */
  release(table: Table, print: Fingerprint, units: number): void {
    this.#open -= 1
    const slot = table.find(print, this.#salt)
    // Nothing is found where it was forgotten.
    if (slot === -1) return
    const left = this.#read(table, slot) - units
    if (left > 0) this.#write(table, slot, left, LATEST_INSTANT)
    else this.#write(table, slot, 0, NOTHING)
  }

  #read(table: Table, slot: number): number {
    if (slot === -1) return 0
    table.readInto(slot, UNITS, this.#instant)
    return this.#instant.seconds * LOW + this.#instant.nanos
  }

  #write(table: Table, slot: number, units: number, until: Readonly<Instant>): void {
    this.#instant.seconds = Math.floor(units / LOW)
    this.#instant.nanos = units % LOW
    table.write(slot, UNITS, this.#instant)
    table.write(slot, NEVER, until)
  }
}

const NOTHING: Readonly<Instant> = { seconds: 0, nanos: 0 }
