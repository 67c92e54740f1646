import type { Caller } from '../caller/caller.ts'
import type { Attributes, Identified, Origin } from '../policy/bound-key.ts'

const NO_ATTRIBUTES: Attributes = Object.freeze({})
const NOWHERE: Origin = Object.freeze({})

/** What bounds go by of a resolved caller. */
export class Resolution {
  readonly who: Identified
  readonly origin: Origin

  constructor(caller: Caller, attributes = NO_ATTRIBUTES, origin = NOWHERE) {
    this.who = { caller, attributes }
    this.origin = origin
  }
}
