import type { Fingerprint } from './fingerprint.ts'
import type { Meter } from './meter.ts'

/** What one key has spent under one bound. */
export interface Account {
  /** The name of the bound. */
  readonly bound: string
  readonly meter: Meter
  readonly print: Fingerprint
}

/** An account that is its own fingerprint, so that a spend under several bounds reads one object for each. */
export class KeyAccount implements Account, Fingerprint {
  readonly bound: string
  readonly meter: Meter
  readonly a: number
  readonly b: number
  readonly c: number
  readonly d: number

  constructor(bound: string, meter: Meter, { a, b, c, d }: Fingerprint) {
    this.bound = bound
    this.meter = meter
    this.a = a
    this.b = b
    this.c = c
    this.d = d
  }

  get print(): Fingerprint {
    return this
  }
}
