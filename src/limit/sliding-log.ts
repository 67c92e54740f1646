import type { Instant } from './instant.ts'
import type { Kind } from './kind.ts'
import type { TimedLimit } from './limit.ts'
import { isLatest, msUntilOrLatest } from './saturation.ts'

// How many entries were ever made, how many units were ever recorded, and a ring of the latest `count` entries: an
// instant, and the units recorded before it. So what counts is one difference, from an entry that is found by bisection:
// no question has to walk the ring, and nothing has to tidy it.
const MADE = 0
const RECORDED = 1
const RING = 2
const SECONDS = 0
const NANOS = 1
const BEFORE = 2
const ENTRY_SIZE = 3

/** Units recorded are counted modulo this, which is more than can ever count at a time. */
const CYCLE = 2 ** 40

/**
 * The exact log: never more than the count in any half-open window of time. An entry counts until one window after it.
 * Memory is in proportion to the count.
 */
export const slidingLog: Kind<TimedLimit> = {
  size: (limit) => RING + ENTRY_SIZE * limit.count,

  fits(limit, state, at, now, units, held) {
    return unitsFrom(limit, state, at, firstCounting(limit, state, at, now)) + held + units <= limit.count
  },

  record(limit, state, at, now, units) {
    const made = state[at + MADE]!
    const recorded = state[at + RECORDED]!
    // Each entry that counts has at least one unit, so the one that is overwritten counts no more.
    const added = entry(limit, at, made)
    state[added + SECONDS] = now.seconds
    state[added + NANOS] = now.nanos
    state[added + BEFORE] = recorded
    state[at + MADE] = made + 1
    state[at + RECORDED] = (recorded + units) % CYCLE
  },

  retryDelayMs(limit, state, at, now, units, held) {
    const room = limit.count - held - units
    if (room < 0) return null
    // The first entry with which, once it counts no more either, there is room.
    let low = firstCounting(limit, state, at, now)
    let high = state[at + MADE]! - 1
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      if (unitsFrom(limit, state, at, middle + 1) <= room) high = middle
      else low = middle + 1
    }
    return msWhileCounting(limit, state, entry(limit, at, low), now)
  },

  remainingUnits(limit, state, at, now, held) {
    return Math.max(0, limit.count - held - unitsFrom(limit, state, at, firstCounting(limit, state, at, now)))
  },

  fullInMs(limit, state, at, now) {
    const made = state[at + MADE]!
    if (firstCounting(limit, state, at, now) === made) return 0
    return msWhileCounting(limit, state, entry(limit, at, made - 1), now)
  },
}

/** Where entry `number`, counted from 0 since the first ever made, is or was. */
function entry(limit: TimedLimit, at: number, number: number): number {
  return at + RING + ENTRY_SIZE * (number % limit.count)
}

/** The number of the oldest entry that still counts, or that of the next to be made when none does. */
function firstCounting(limit: TimedLimit, state: Float64Array, at: number, now: Readonly<Instant>): number {
  const made = state[at + MADE]!
  if (isLatest(now)) return made
  let low = Math.max(0, made - limit.count)
  let high = made
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const found = entry(limit, at, middle)
    const aheadSeconds = state[found + SECONDS]! + limit.windowSeconds - now.seconds
    if (aheadSeconds > 0 || (aheadSeconds === 0 && state[found + NANOS]! > now.nanos)) high = middle
    else low = middle + 1
  }
  return low
}

/** The units of all entries from this number on. */
function unitsFrom(limit: TimedLimit, state: Float64Array, at: number, number: number): number {
  if (number === state[at + MADE]) return 0
  return (state[at + RECORDED]! - state[entry(limit, at, number) + BEFORE]! + CYCLE) % CYCLE
}

function msWhileCounting(limit: TimedLimit, state: Float64Array, found: number, now: Readonly<Instant>): number {
  return msUntilOrLatest(state[found + SECONDS]! + limit.windowSeconds, state[found + NANOS]!, now)
}
