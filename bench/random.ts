/** Random numbers, 0 … 1, the same for the same seed (mulberry32): what is compared meets the same callers in the same order. */
export function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/**
 * Which of `count` callers are visited, in random order: all of them once, and again from the start until there are `visits`.
 * When there are fewer visits than callers, no caller twice.
 */
export function visitsOf(count: number, visits: number): Uint32Array {
  const random = randomOf(count)
  const order = Uint32Array.from({ length: count }, (_, i) => i)
  for (let i = 0; i < Math.min(visits, count - 1); i++) {
    const other = i + Math.floor(random() * (count - i))
    const index = order[other]!
    order[other] = order[i]!
    order[i] = index
  }
  return Uint32Array.from({ length: visits }, (_, i) => order[i % count]!)
}

/** The same list in random order. */
export function shuffled<T>(list: readonly T[], random: () => number): T[] {
  const result = [...list]
  for (let i = result.length - 1; i > 0; i--) {
    const other = Math.floor(random() * (i + 1))
    ;[result[i], result[other]] = [result[other]!, result[i]!]
  }
  return result
}
