import type { Kind } from './kind.ts'
import type { EpochLimit } from './limit.ts'

/**
 * At most `count` units while the epoch number stays. It remembers the number of the epoch last spent in, and what was
 * spent in it: epoch 0 and nothing where nothing was. Only the source knows when the next epoch begins, if anybody does.
 */
export const epoch: Kind<EpochLimit> = {
  size: () => 2,

  fits(limit, state, at, _now, units, held) {
    return spentIn(epochNumber(limit, state, at), state, at) + held + units <= limit.count
  },

  record(limit, state, at, _now, units) {
    let number: number
    try {
      number = epochNumber(limit, state, at)
    } catch {
      // A source that fails only now is taken to stand still, since the other limits of the spend may be recorded already.
      number = state[at]!
    }
    const spent = spentIn(number, state, at)
    state[at] = number
    state[at + 1] = spent + units
  },

  retryDelayMs(limit, _state, _at, _now, units, held) {
    return held + units > limit.count ? null : nextEpochInMs(limit)
  },

  remainingUnits(limit, state, at, _now, held) {
    return Math.max(0, limit.count - held - spentIn(epochNumber(limit, state, at), state, at))
  },

  fullInMs(limit, state, at) {
    return spentIn(epochNumber(limit, state, at), state, at) === 0 ? 0 : nextEpochInMs(limit)
  },
}

/** The number of the epoch now; never one before that last spent in. */
function epochNumber(limit: EpochLimit, state: Float64Array, at: number): number {
  const number = limit.epoch()
  if (!Number.isSafeInteger(number) || number < 0) {
    const shown = typeof number === 'number' || number === null ? String(number) : `a value of type ${typeof number}`
    throw new RangeError(
      `epoch: the source must return a whole number from 0 to ${Number.MAX_SAFE_INTEGER}, and returned ${shown}`,
    )
  }
  return Math.max(number, state[at]!)
}

function spentIn(number: number, state: Float64Array, at: number): number {
  return state[at] === number ? state[at + 1]! : 0
}

/** What the source says, in whole ms and at least 1; null when it says nothing that can be waited for. */
function nextEpochInMs(limit: EpochLimit): number | null {
  const ms = limit.nextEpochInMs?.() ?? null
  return ms !== null && ms <= Number.MAX_SAFE_INTEGER ? Math.max(1, Math.ceil(ms)) : null
}
