import type { Kind } from './kind.ts'
import type { HoldLimit } from './limit.ts'

/** At most `count` held at a time. Nothing is ever spent, so that there is nothing to remember. */
export const hold: Kind<HoldLimit> = {
  size: () => 0,

  fits(limit, _state, _at, _now, units, held) {
    return held + units <= limit.count
  },

  record() {},

  retryDelayMs(limit, _state, _at, _now, units) {
    return units > limit.count ? null : limit.retryDelaySeconds * 1000
  },

  remainingUnits(limit, _state, _at, _now, held) {
    return Math.max(0, limit.count - held)
  },

  fullInMs: () => 0,
}
