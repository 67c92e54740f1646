import { chargeInto, debtNs, emptyPrice, priceInto, remainingUnits, retryDelayMs } from './earned-back.ts'
import type { Instant } from './instant.ts'
import { msUntil } from './instant.ts'
import type { Kind } from './kind.ts'
import type { TimedLimit } from './limit.ts'

// Kept and reused, so that a spend allocates nothing.
const price = emptyPrice()
const remembered: Instant = { seconds: 0, nanos: 0 }
const next: Instant = { seconds: 0, nanos: 0 }

/**
 * A limit that is earned back, as one kind among others. It remembers when everything is earned back: seconds and
 * nanoseconds. Held units are priced together with the spend; a spend larger than the count (RATE-020) fits only where
 * nothing is held.
 */
export const earnedBack: Kind<TimedLimit> = {
  size: () => 2,

  fits(limit, state, at, now, units, held) {
    if (heldRoom(limit, units, held)) return false
    priceInto(limit, units + held, price)
    return debtNs(read(state, at), now) <= price.mostDebtNs
  },

  record(limit, state, at, now, units) {
    priceInto(limit, units, price)
    const earnedBackAt = read(state, at)
    chargeInto(price, debtNs(earnedBackAt, now) > 0 ? earnedBackAt : now, next)
    state[at] = next.seconds
    state[at + 1] = next.nanos
  },

  retryDelayMs(limit, state, at, now, units, held) {
    if (heldRoom(limit, units, held)) return null
    priceInto(limit, units + held, price)
    return retryDelayMs(price, read(state, at), now)
  },

  remainingUnits(limit, state, at, now, held) {
    return Math.max(0, remainingUnits(limit, debtNs(read(state, at), now)) - held)
  },

  fullInMs(_limit, state, at, now) {
    return msUntil(read(state, at), now)
  },
}

/** Whether the spend cannot fit for as long as what is held stays held. */
function heldRoom(limit: TimedLimit, units: number, held: number): boolean {
  return held > 0 && units + held > limit.count
}

function read(state: Float64Array, at: number): Readonly<Instant> {
  remembered.seconds = state[at]!
  remembered.nanos = state[at + 1]!
  return remembered
}
