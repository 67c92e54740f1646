const collectGarbage = globalThis.gc

/** Bytes that a process holds. */
export interface Held {
  /** What JavaScript holds after a full collection: its heap, and what lies outside of it. */
  readonly javascript: number
  /** What the process has in memory. */
  readonly resident: number
}

/** @throws Error without --expose-gc. */
export function heldBytes(): Held {
  if (collectGarbage === undefined) throw new Error('run with node --expose-gc')
  collectGarbage()
  collectGarbage()
  // `external` has those of array buffers in it.
  const { heapUsed, external, rss } = process.memoryUsage()
  return { javascript: heapUsed + external, resident: rss }
}

export function grownBy(before: Held, after: Held): Held {
  return { javascript: after.javascript - before.javascript, resident: after.resident - before.resident }
}
