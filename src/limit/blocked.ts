import type { Kind } from './kind.ts'
import type { BlockedLimit } from './limit.ts'

/** Nothing fits, ever, and nothing is remembered. */
export const blocked: Kind<BlockedLimit> = {
  size: () => 0,
  fits: () => false,
  record() {},
  retryDelayMs: () => null,
  remainingUnits: () => 0,
  fullInMs: () => null,
}
