import { bounds } from './bounds.ts'
import type { Statements } from './statements.ts'

/** An event as a row of the database. */
export interface EventRow {
  id: number
  /** In JSON. */
  event: string
}

/** Which events a stream is about, by id, both ends included. */
export interface Range {
  subject: string
  /** Those of subjects below it, too. */
  recursive: boolean
  from: number
  to: number
}

/** Some events, and where to go on; undefined: nowhere. */
export interface EventPage {
  rows: EventRow[]
  next: Range | undefined
}

export function readPage({ up, down }: Statements, range: Range, descending: boolean): EventPage {
  const { from, to, subject, recursive } = range
  if (from > to) return { rows: [], next: undefined }
  // Of one subject, the index names the events. Of many, every event of a window is looked at.
  const [low, high] = !recursive
    ? [from, to]
    : descending
      ? [Math.max(from, to - bounds.windowEvents + 1), to]
      : [from, Math.min(to, from + bounds.windowEvents - 1)]
  const statements = descending ? down : up
  const found = recursive
    ? statements.recursive.iterate(low, high, subject, subject === '/' ? '/' : `${subject}/`, after(subject))
    : statements.exact.iterate(subject, low, high)
  const { rows, cut } = takePage(found as Iterable<EventRow>)
  const last = rows.at(-1)?.id
  if (cut) return { rows, next: descending ? { ...range, to: last! - 1 } : { ...range, from: last! + 1 } }
  if (low === from && high === to) return { rows, next: undefined }
  return { rows, next: descending ? { ...range, to: low - 1 } : { ...range, from: high + 1 } }
}

/** The first text behind everything that starts with a subject and a slash: "0" comes after "/". */
export function after(subject: string): string {
  return subject === '/' ? '0' : `${subject}0`
}

function takePage(found: Iterable<EventRow>): { rows: EventRow[]; cut: boolean } {
  const rows: EventRow[] = []
  let bytes = 0
  for (const row of found) {
    rows.push(row)
    bytes += row.event.length
    if (bytes >= bounds.pageBytes || rows.length === bounds.windowEvents) return { rows, cut: true }
  }
  return { rows, cut: false }
}
