import { createApiKeys } from '../auth/api-keys.ts'

/** Somebody who can sign in. */
export interface User {
  name: string
  organisation?: string
  roles: readonly string[]
  /** What the cookie `session` of a browser carries. */
  sessions: readonly string[]
  /** API tokens by their names: what `X-Api-Key` carries. */
  tokens: ReadonlyMap<string, string>
}

/** Who a credential stands for. */
export interface Session {
  user: string
  organisation?: string
  roles: readonly string[]
  /** The name of the API token, when it was one. */
  token?: string
}

/** Looks up who a credential stands for, undefined: nobody. Here in memory; elsewhere it asks a database. */
export type LookUp = (credential: Credential) => Promise<Session | undefined>

export interface Credential {
  kind: 'session' | 'token'
  value: string
}

/** @param users Names of users, of their tokens, and the secrets, are each different. */
export function createDirectory(users: readonly User[]): LookUp {
  const sessions = new Map<string, Session>()
  const found = { session: new Map<string, string>(), token: new Map<string, string>() }
  for (const { name, organisation, roles, sessions: ids, tokens } of users) {
    const session = { user: name, roles, ...(organisation !== undefined && { organisation }) }
    for (const [i, id] of ids.entries()) {
      sessions.set(`session ${name} ${i}`, session)
      found.session.set(`session ${name} ${i}`, id)
    }
    for (const [token, secret] of tokens) {
      sessions.set(`token ${token}`, { ...session, token })
      found.token.set(`token ${token}`, secret)
    }
  }
  const keyOf = { session: createApiKeys(found.session), token: createApiKeys(found.token) }
  return async ({ kind, value }) => {
    const key = keyOf[kind](value)
    return key === undefined ? undefined : sessions.get(key)
  }
}
