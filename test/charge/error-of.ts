/** What `run` throws, so that its message can be compared whole: tap's `throws` is content with a part of it. */
export function errorOf(run: () => unknown): Error {
  try {
    run()
  } catch (error) {
    if (error instanceof Error) return error
    throw error
  }
  throw new Error('nothing was thrown')
}
