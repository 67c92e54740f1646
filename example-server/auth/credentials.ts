import type { FastifyRequest } from 'fastify'

/** What a request says of who sent it. */
export type Credentials = 'none' | 'malformed' | readonly Credential[]

export interface Credential {
  value: string
  /** An `X-Api-Key` is never a token; a bearer can be either. */
  source: 'bearer' | 'x-api-key'
}

const BEARER = /^Bearer +([\x21-\x7e]+) *$/i
const API_KEY = /^[\x21-\x7e]+$/

/**
 * Reads every `Authorization` and `X-Api-Key` line of a request. The raw lines are read because Node keeps only the first
 * of two `Authorization` headers: what a proxy in front of the server went by might be the other one.
 */
export function readCredentials({ raw }: FastifyRequest): Credentials {
  const credentials: Credential[] = []
  for (let i = 0; i + 1 < raw.rawHeaders.length; i += 2) {
    const name = raw.rawHeaders[i]!.toLowerCase()
    if (name !== 'authorization' && name !== 'x-api-key') continue
    const source = name === 'authorization' ? 'bearer' : name
    const line = raw.rawHeaders[i + 1]!
    const value = source === 'bearer' ? BEARER.exec(line)?.[1] : API_KEY.exec(line)?.[0]
    if (value === undefined) return 'malformed'
    credentials.push({ value, source })
  }
  return credentials.length === 0 ? 'none' : credentials
}
