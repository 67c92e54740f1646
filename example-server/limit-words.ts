import type { Denial } from '../src/index.ts'

type Limit = Denial['limit']

/** A limit as people read it: `10 per 60 s`. */
export function limitInWords(limit: Limit): string {
  switch (limit.kind) {
    case 'blocked':
      return 'nothing'
    case 'epoch':
      return `${limit.count} per epoch`
    case 'hold':
      return `${limit.count} at a time`
    case 'sliding_window':
    case 'sliding_log':
      return `${limit.count} in any ${limit.windowSeconds} s`
    default:
      return `${limit.count} per ${limit.windowSeconds} s`
  }
}
