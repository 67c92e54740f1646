import type { Fingerprint } from './fingerprint.ts'
import type { Meter } from './meter.ts'

/** What one key has spent under one bound. */
export interface Account {
  /** The name of the bound. */
  readonly bound: string
  readonly meter: Meter
  readonly print: Fingerprint
}
