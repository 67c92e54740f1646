import type { StoredEvent } from '../events.ts'
import type { Comparison, Path, Query, Scalar } from './parse.ts'

/** Whether an event meets the conditions of a query. A field that it does not have is null. */
export function matches({ where }: Query, event: StoredEvent): boolean {
  return where.every(({ path, comparison, value }) => compare(fieldOf(event, path), comparison, value))
}

/** What a query makes of an event; not for `COUNT()`. */
export function projected({ project }: Query, event: StoredEvent): unknown {
  if ('path' in project) return fieldOf(event, project.path)
  if ('count' in project) return undefined
  return Object.fromEntries(project.fields.map(([name, path]) => [name, fieldOf(event, path)]))
}

function fieldOf(event: StoredEvent, path: Path): unknown {
  let value: unknown = event
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return null
    value = (value as Record<string, unknown>)[name]
  }
  return value
}

/** Only what is of one type has an order. */
function compare(found: unknown, comparison: Comparison, value: Scalar): boolean {
  if (comparison === '==') return found === value
  if (comparison === '!=') return found !== value
  if (typeof found !== typeof value || (typeof found !== 'number' && typeof found !== 'string')) return false
  const given = value as number | string
  if (comparison === '<') return found < given
  if (comparison === '<=') return found <= given
  if (comparison === '>') return found > given
  return found >= given
}
