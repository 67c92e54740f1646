/** Where the number of the epoch comes from. */
export interface Epochs {
  /** The number of the current epoch: a whole number from 0. Must not go back. */
  current(): number
  /** Whole milliseconds until the next epoch, from 1; null: it cannot be said. Default: it never can. */
  nextInMs?(): number | null
}

/**
 * Epochs of one length, counted from the start of 1970.
 * @param wall Milliseconds since then. When it goes back, the epoch stays.
 */
export function wallClockEpochs(wall: () => number, epochSeconds: number): Epochs {
  const lengthMs = epochSeconds * 1000
  let newest = 0
  const current = () => {
    newest = Math.max(newest, Math.floor(wall() / lengthMs))
    return newest
  }
  return { current, nextInMs: () => Math.max(1, Math.ceil((current() + 1) * lengthMs - wall())) }
}
