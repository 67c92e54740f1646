const CALM_MS = 1000

/**
 * Calls `run` for each frame that is shown, or once a second for people who want less motion, until it returns false.
 * Returns a function that stops it.
 */
export function everyFrame(run: () => boolean): () => void {
  const calm = matchMedia('(prefers-reduced-motion: reduce)').matches
  let cancel = () => {}
  const next = () => {
    if (!run()) return
    if (calm) {
      const timer = setTimeout(next, CALM_MS)
      cancel = () => clearTimeout(timer)
    } else {
      const frame = requestAnimationFrame(next)
      cancel = () => cancelAnimationFrame(frame)
    }
  }
  next()
  return () => cancel()
}
