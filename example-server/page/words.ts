/** `3.2 s`, `4 min 10 s`, `1 h 5 min`: rounded up, so that nothing is there sooner than it says. */
export function duration(ms: number): string {
  if (ms < 60_000) return `${(Math.ceil(Math.max(0, ms) / 100) / 10).toFixed(1)} s`
  const seconds = Math.ceil(ms / 1000)
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** `per minute`, `per 2 s`. */
export function perWindow(seconds: number): string {
  if (seconds === 60) return 'per minute'
  if (seconds === 3600) return 'per hour'
  return `per ${seconds} s`
}

/** `1 topic`, `2 topics`. */
export function count(n: number, noun: string): string {
  return `${n.toLocaleString('en')} ${noun}${n === 1 ? '' : 's'}`
}
