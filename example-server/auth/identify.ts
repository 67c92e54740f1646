import { Code, ConnectError } from '@connectrpc/connect'
import type { FastifyRequest } from 'fastify'
import type { Caller } from '../../src/index.ts'
import { type ApiKeys, createApiKeys } from './api-keys.ts'
import { type Credential, readCredentials } from './credentials.ts'
import { createTokens, type Issuer, type Tokens } from './tokens.ts'

export interface AuthConfig {
  /** Each API key by its name. */
  apiKeys: ReadonlyMap<string, string>
  issuers: readonly Issuer[]
}

/** Who a credential stands for: a caller, or nobody in particular (a valid token without `sub`). */
type Identity = Caller | 'nobody in particular'

/**
 * Makes the function that says who a request is charged to: the name of its API key, the issuer and subject of its token,
 * or nothing (the plugin then takes the client address) when it carries no credential or a token without `sub`.
 *
 * It throws `unauthenticated`, always with the same words, when the request carries a credential that is not valid, or two
 * that do not stand for the same caller.
 */
export function createIdentify({ apiKeys, issuers }: AuthConfig) {
  const keys = createApiKeys(apiKeys)
  const tokens = createTokens(issuers)
  return async (request: FastifyRequest): Promise<Caller | undefined> => {
    const credentials = readCredentials(request)
    if (credentials === 'none') return undefined
    if (credentials === 'malformed') throw unauthenticated()
    let identity: Identity | undefined
    for (const credential of credentials) {
      const next = await identityOf(credential, keys, tokens)
      if (!next || (identity && !same(identity, next))) throw unauthenticated()
      identity = next
    }
    return identity === 'nobody in particular' ? undefined : identity
  }
}

async function identityOf(credential: Credential, keys: ApiKeys, tokens: Tokens): Promise<Identity | undefined> {
  const name = keys(credential.value)
  if (name !== undefined) return { type: 'api_key', name }
  if (credential.source === 'x-api-key') return undefined
  const claims = await tokens(credential.value)
  if (!claims) return undefined
  if (claims.sub === undefined) return 'nobody in particular'
  // RFC 7519 wants a string; a token that carries something else names nobody that could be charged.
  return typeof claims.sub === 'string' ? { type: 'jwt', iss: claims.iss ?? '', sub: claims.sub } : undefined
}

function same(a: Identity, b: Identity): boolean {
  if (typeof a === 'string' || typeof b === 'string') return a === b
  if (a.type === 'api_key') return b.type === 'api_key' && a.name === b.name
  return a.type === 'jwt' && b.type === 'jwt' && a.iss === b.iss && a.sub === b.sub
}

function unauthenticated(): ConnectError {
  return new ConnectError('the credentials of the request are not valid', Code.Unauthenticated)
}
