import { isTable, type Report, unknownKeys } from '../config-values.ts'
import { namesOf, show, tablesOf, wholeOf } from './config-fields.ts'
import { type Access, PER, type Rule } from './rules.ts'
import { windowSecondsOf } from './window.ts'

/** Of a route, and of each of its operations. */
const MOST_RULES = 16

/** Reads a list of rules: `{ per = "user", only = { roles = ["partner"] }, count = 1000, window = "PT1M" }` and so on. */
export function parseRules(value: unknown, path: string, report: Report): Rule[] {
  return tablesOf(value, path, MOST_RULES, 'rules', report).flatMap(([entry, at]): Rule[] => {
    const { per: _per, only: _only, count: _count, window, ...others } = entry
    unknownKeys(at, others, ['per', 'only', 'count', 'window'], report)
    const per = PER.find((name) => name === entry.per)
    if (per === undefined) report(`${at}.per`, `must be one of ${PER.join(', ')}, got ${show(entry.per)}`)
    const only = parseAccess(entry.only, `${at}.only`, report)
    const count = wholeOf(entry.count, `${at}.count`, 1, 1_000_000_000, report)
    const windowSeconds = windowSecondsOf(window, `${at}.window`, report)
    if (per === undefined || count === undefined || windowSeconds === undefined) return []
    return [{ per, ...(only && { only }), count, window: window as string, windowSeconds }]
  })
}

/** Reads an Access. An empty one is everybody. */
function parseAccess(value: unknown, path: string, report: Report): Access | undefined {
  if (value === undefined) return undefined
  if (!isTable(value)) {
    report(path, `must be an Access, such as { roles = ["partner"] }, got ${show(value)}`)
    return undefined
  }
  const { roles: written, ...others } = value
  unknownKeys(path, others, ['roles'], report)
  const roles = namesOf(written, `${path}.roles`, 32, 'roles', report)
  return roles.length === 0 ? undefined : { roles }
}
