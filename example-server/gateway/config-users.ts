import { hide, isTable, join, type Report, unknownKeys } from '../config-values.ts'
import { listOf, nameOf, namesOf, tablesOf } from './config-fields.ts'
import type { User } from './directory.ts'

/** What a header and a cookie carry without quotes. */
const SECRET = /^[\w.~-]{16,256}$/

/** Reports whatever is no secret, or one that stands elsewhere too. Secrets are never shown. */
export type CheckSecret = (value: unknown, path: string) => value is string

export function secretChecker(report: Report): CheckSecret {
  const paths = new Map<string, string>()
  return (value, path): value is string => {
    if (typeof value !== 'string' || !SECRET.test(value)) {
      report(path, `must be a secret of 16 to 256 of A-Z a-z 0-9 _ . ~ -, got ${hide(value)}`)
      return false
    }
    const twin = paths.get(value)
    if (twin !== undefined) report(path, `must be a secret of its own, got the one of ${twin}`)
    paths.set(value, path)
    return twin === undefined
  }
}

/** Reads `[[users]]`: `name`, `organisation`, `roles`, `sessions` and `[users.tokens]`, name = secret. */
export function parseUsers(value: unknown, report: Report, isSecret: CheckSecret): User[] {
  const names = new Set<string>()
  const tokenNames = new Set<string>()
  return tablesOf(value, 'users', 1000, 'users', report).flatMap(([entry, at]): User[] => {
    const { name: _name, organisation, roles, sessions, tokens, ...others } = entry
    unknownKeys(at, others, ['name', 'organisation', 'roles', 'sessions', 'tokens'], report)
    const name = own(names, 'user', nameOf(entry.name, `${at}.name`, report), `${at}.name`, report)
    const of = organisation === undefined ? undefined : nameOf(organisation, `${at}.organisation`, report)
    const user = {
      name: name ?? '',
      ...(of !== undefined && { organisation: of }),
      roles: namesOf(roles, `${at}.roles`, 32, 'roles', report),
      sessions: listOf(sessions, `${at}.sessions`, 100, 'sessions', report).flatMap(([id, path]) =>
        isSecret(id, path) ? [id] : [],
      ),
      tokens: parseTokens(tokens, `${at}.tokens`, tokenNames, report, isSecret),
    }
    return name === undefined ? [] : [user]
  })
}

function parseTokens(
  value: unknown,
  path: string,
  names: Set<string>,
  report: Report,
  isSecret: CheckSecret,
): Map<string, string> {
  const tokens = new Map<string, string>()
  if (value === undefined) return tokens
  if (!isTable(value)) {
    report(path, `must be a table of tokens by their names, got ${hide(value)}`)
    return tokens
  }
  for (const [i, [written, secret]] of Object.entries(value).entries()) {
    // Name and secret may have been swapped: what is as long as a secret is not shown.
    const at = written.length >= 16 ? `${path}, entry ${i + 1}` : join(path, written)
    const name = own(names, 'token', nameOf(written, at, report), at, report)
    if (isSecret(secret, at) && name !== undefined) tokens.set(name, secret)
  }
  return tokens
}

/** A name that stands only once, or undefined, reported. */
export function own(names: Set<string>, of: string, name: string | undefined, path: string, report: Report) {
  if (name === undefined) return undefined
  if (names.has(name)) report(path, `must be its own, got the one of another ${of}`)
  names.add(name)
  return name
}
