import type { Instant } from './instant.ts'
import type { Kind } from './kind.ts'
import type { TimedLimit } from './limit.ts'
import { isLatest, msUntilOrLatest } from './saturation.ts'

// A ring of at most `count` entries, oldest first; each entry is one instant and how many units were recorded before it.
// So what counts is one difference, found by bisection, and no question has to walk or to tidy the ring.
const FIRST = 0
const LENGTH = 1
const RECORDED = 2
const ENTRIES = 3
const SECONDS = 0
const NANOS = 1
const BEFORE = 2
const ENTRY_SIZE = 3

/** Units recorded are counted modulo this, which is more than can ever count at a time. */
const CYCLE = 2 ** 40

/**
 * The exact log: never more than the count in any half-open window of time. An entry counts until one window after it.
 * Spends at the same instant share an entry. Memory is in proportion to the count.
 */
export const slidingLog: Kind<TimedLimit> = {
  size: (limit) => ENTRIES + ENTRY_SIZE * limit.count,

  fits(limit, state, at, now, units, held) {
    return unitsFrom(limit, state, at, expired(limit, state, at, now)) + held + units <= limit.count
  },

  record(limit, state, at, now, units) {
    if (isLatest(now)) return
    const length = state[at + LENGTH]!
    const recorded = state[at + RECORDED]!
    const last = length === 0 ? -1 : entry(limit, state, at, length - 1)
    state[at + RECORDED] = (recorded + units) % CYCLE
    if (last !== -1 && state[last + SECONDS] === now.seconds && state[last + NANOS] === now.nanos) return
    // The ring is full of entries that count only if more was recorded than fits: the oldest goes.
    const gone = Math.max(expired(limit, state, at, now), length === limit.count ? 1 : 0)
    state[at + FIRST] = (state[at + FIRST]! + gone) % limit.count
    state[at + LENGTH] = length - gone + 1
    const added = entry(limit, state, at, length - gone)
    state[added + SECONDS] = now.seconds
    state[added + NANOS] = now.nanos
    state[added + BEFORE] = recorded
  },

  retryDelayMs(limit, state, at, now, units, held) {
    const room = limit.count - held - units
    if (room < 0) return null
    // The first entry with which, when it has expired too, enough has.
    let low = expired(limit, state, at, now)
    let high = state[at + LENGTH]! - 1
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      if (unitsFrom(limit, state, at, middle + 1) <= room) high = middle
      else low = middle + 1
    }
    return msUntilExpired(limit, state, entry(limit, state, at, low), now)
  },

  remainingUnits(limit, state, at, now, held) {
    return Math.max(0, limit.count - held - unitsFrom(limit, state, at, expired(limit, state, at, now)))
  },

  fullInMs(limit, state, at, now) {
    const length = state[at + LENGTH]!
    if (expired(limit, state, at, now) === length) return 0
    return msUntilExpired(limit, state, entry(limit, state, at, length - 1), now)
  },
}

/** Where the entry with this index, 0 for the oldest, is. */
function entry(limit: TimedLimit, state: Float64Array, at: number, index: number): number {
  return at + ENTRIES + ENTRY_SIZE * ((state[at + FIRST]! + index) % limit.count)
}

/** How many entries, from the oldest on, no longer count. */
function expired(limit: TimedLimit, state: Float64Array, at: number, now: Readonly<Instant>): number {
  let low = 0
  let high = state[at + LENGTH]!
  if (isLatest(now)) return high
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const found = entry(limit, state, at, middle)
    const aheadSeconds = state[found + SECONDS]! + limit.windowSeconds - now.seconds
    if (aheadSeconds > 0 || (aheadSeconds === 0 && state[found + NANOS]! > now.nanos)) high = middle
    else low = middle + 1
  }
  return low
}

/** The units of the entries from this index on. */
function unitsFrom(limit: TimedLimit, state: Float64Array, at: number, index: number): number {
  if (index === state[at + LENGTH]) return 0
  return (state[at + RECORDED]! - state[entry(limit, state, at, index) + BEFORE]! + CYCLE) % CYCLE
}

function msUntilExpired(limit: TimedLimit, state: Float64Array, found: number, now: Readonly<Instant>): number {
  return msUntilOrLatest(state[found + SECONDS]! + limit.windowSeconds, state[found + NANOS]!, now)
}
