import type { CountedLimit } from '../src/index.ts'

/** A limit as people read it: `60 per 60 s`, `60 in any 60 s`, `3 per epoch`, `nothing, ever`. */
export function limitInWords(limit: CountedLimit): string {
  switch (limit.kind) {
    case 'blocked':
      return 'nothing, ever'
    case 'hold':
      return `${limit.count} at a time`
    case 'epoch':
      return `${limit.count} per epoch`
    case 'sliding_log':
      return `${limit.count} in any ${limit.windowSeconds} s`
    case 'sliding_window':
      return `${limit.count} in about any ${limit.windowSeconds} s`
    default:
      return `${limit.count} per ${limit.windowSeconds} s`
  }
}

/** The most that it ever admits at once. */
export function countOf(limit: CountedLimit): number {
  return limit.kind === 'blocked' ? 0 : limit.count
}

/** Its window; 0 where it has none. */
export function windowSecondsOf(limit: CountedLimit): number {
  return 'windowSeconds' in limit ? limit.windowSeconds : 0
}
