import { hide, isTable, type Report, type Table } from '../config-values.ts'

const NAME = /^[a-z0-9][a-z0-9_.-]{0,31}$/

/** What a message shows of a value that is no secret: a short one as it is, another by what it is. */
export function show(value: unknown): string {
  if (typeof value === 'string' && value.length <= 40) return JSON.stringify(value)
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return String(value)
  return Array.isArray(value) ? `a list of ${value.length}` : hide(value)
}

/** A whole number in its range, or undefined, reported. */
export function wholeOf(value: unknown, path: string, least: number, most: number, report: Report): number | undefined {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most) return value
  report(path, `must be a whole number from ${least} to ${most}, got ${show(value)}`)
  return undefined
}

/** The name of something in the configuration, or undefined, reported. A text that is none may be a secret. */
export function nameOf(value: unknown, path: string, report: Report): string | undefined {
  if (typeof value === 'string' && NAME.test(value)) return value
  report(path, `must be a name of 1 to 32 of a-z 0-9 _ . - that starts with a letter or digit, got ${hide(value)}`)
  return undefined
}

/** The entries of a list, each with its path. Absent: none. */
export function listOf(value: unknown, path: string, most: number, what: string, report: Report) {
  if (value === undefined) return []
  if (Array.isArray(value) && value.length <= most)
    return value.map((entry: unknown, i) => [entry, `${path}[${i}]`] as const)
  report(path, `must be a list of up to ${most} ${what}, got ${show(value)}`)
  return []
}

/** As `listOf`, of tables. */
export function tablesOf(value: unknown, path: string, most: number, what: string, report: Report) {
  return listOf(value, path, most, what, report).flatMap(([entry, at]): (readonly [Table, string])[] => {
    if (isTable(entry)) return [[entry, at]]
    report(at, `must be a table, got ${show(entry)}`)
    return []
  })
}

/** Each different name in a list. */
export function namesOf(value: unknown, path: string, most: number, what: string, report: Report): string[] {
  const names = listOf(value, path, most, what, report).map(([entry, at]) => nameOf(entry, at, report))
  return [...new Set(names.filter((name) => name !== undefined))]
}
