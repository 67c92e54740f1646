import type { FastifyRequest } from 'fastify'
import type { Identity } from '../../src/index.ts'
import { Unauthenticated } from './answers.ts'
import type { Credential, LookUp } from './directory.ts'

const VALUE = /^[\w.~-]{1,256}$/

/**
 * Makes the function that says what a request is counted by: the user, the organisation and the token of its credential,
 * a session (cookie `session`) or an API token (`X-Api-Key`). Without one it is nobody, and counted by its address.
 * Throws `Unauthenticated` for one that stands for nobody, and for two.
 */
export function createIdentify(lookUp: LookUp) {
  return async ({ raw }: FastifyRequest): Promise<Identity> => {
    const [credential, ...more] = credentialsOf(raw.rawHeaders)
    if (credential === undefined) return undefined
    const session = more.length === 0 && VALUE.test(credential.value) ? await lookUp(credential) : undefined
    if (session === undefined) throw new Unauthenticated('the credentials of the request are not valid')
    const { user, token } = session
    const caller =
      token === undefined
        ? { type: 'jwt' as const, iss: 'sessions', sub: user }
        : { type: 'api_key' as const, name: token }
    return { ...caller, ...session }
  }
}

// The raw lines: Node drops or joins the second of two.
function credentialsOf(lines: readonly string[]): Credential[] {
  const credentials: Credential[] = []
  for (let i = 0; i + 1 < lines.length; i += 2) {
    const name = lines[i]!.toLowerCase()
    const line = lines[i + 1]!
    if (name === 'x-api-key') credentials.push({ kind: 'token', value: line })
    if (name === 'cookie') {
      for (const value of sessionsOf(line)) credentials.push({ kind: 'session', value })
    }
  }
  return credentials
}

function sessionsOf(cookie: string): string[] {
  return cookie.split(';').flatMap((pair) => (isSession(pair) ? [pair.slice(pair.indexOf('=') + 1).trim()] : []))
}

const isSession = (pair: string): boolean => pair.slice(0, pair.indexOf('=')).trim() === 'session'

/** A `Cookie` without the session: it is for the gateway, and no business of an upstream. */
export function withoutSession(cookie: string): string | undefined {
  const rest = cookie.split(';').filter((pair) => !isSession(pair))
  return rest.join(';').trim() || undefined
}
