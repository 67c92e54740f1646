import {
  createLocalJWKSet,
  decodeJwt,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyOptions,
  jwtVerify,
} from 'jose'

/** Somebody whose tokens are accepted. Its algorithm is fixed here: what a token's header says is only compared with it. */
export interface Issuer {
  /** The `iss` of its tokens; empty: tokens without `iss`, or with an empty one. */
  iss: string
  alg: string
  key: { secret: string } | { jwks: JSONWebKeySet }
  /** When given, a token must name it in `aud`. */
  audience?: string
}

/** The claims of a token that one of the issuers signed and that is in force now, else undefined. */
export type Tokens = (token: string) => Promise<JWTPayload | undefined>

type Verify = (token: string) => Promise<JWTPayload>

export function createTokens(issuers: readonly Issuer[]): Tokens {
  const verifiers = new Map<string, Verify>(issuers.map((issuer) => [issuer.iss, createVerifier(issuer)]))
  return async (token) => {
    try {
      // Not yet verified: it only says whose key to verify with.
      const { iss = '' } = decodeJwt(token)
      return await verifiers.get(iss)?.(token)
    } catch {
      return undefined
    }
  }
}

function createVerifier({ iss, alg, key, audience }: Issuer): Verify {
  const options: JWTVerifyOptions = {
    algorithms: [alg],
    ...(iss !== '' && { issuer: iss }),
    ...(audience !== undefined && { audience }),
  }
  if ('secret' in key) {
    const secret = new TextEncoder().encode(key.secret)
    return async (token) => (await jwtVerify(token, secret, options)).payload
  }
  const keys = createLocalJWKSet(key.jwks)
  return async (token) => (await jwtVerify(token, keys, options)).payload
}
