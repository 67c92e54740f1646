/** `windowSeconds` → `window_seconds`: the spelling of an option's key in a config file. */
export function snakeCase(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** The candidate that `word` was probably meant to be, if one is near: `defualt` → `default`, `window` → `windowSeconds`. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  // longer than any key or category name may be; also bounds the work below
  if (word.length > 64) return undefined
  let best: string | undefined
  let bestDistance = Infinity
  for (const candidate of candidates) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase())
    const part = word.length >= 3 && candidate.toLowerCase().includes(word.toLowerCase())
    if (distance < bestDistance && (part || distance <= Math.ceil(candidate.length / 3))) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** ` (did you mean "default"?)`, to be appended to an error message, or nothing. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const meant = nearest(word, candidates)
  return meant === undefined ? '' : ` (did you mean "${meant}"?)`
}

const OTHER_UNIT = /_?(?:ms|millis|milliseconds|mins?|minutes|hrs?|hours|days)$/i
const SECONDS = /_?seconds$/i

/** As `didYouMean` says it, of a time in another unit than the one there is: `windowMs` where there is `windowSeconds`. */
export function didYouMeanSeconds(word: string, candidates: Iterable<string>): string {
  if (!OTHER_UNIT.test(word)) return ''
  const times = new Map(
    [...candidates].filter((key) => SECONDS.test(key)).map((key) => [key.replace(SECONDS, ''), key]),
  )
  const meant = times.get(nearest(word.replace(OTHER_UNIT, ''), times.keys()) ?? '')
  return meant === undefined ? '' : ` (did you mean "${meant}"? It is in seconds: ${meant}: 60)`
}

// Levenshtein, one row at a time
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1))
    }
    row = next
  }
  return row[b.length]!
}
