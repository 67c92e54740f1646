import type { AuthConfig } from './auth/identify.ts'

/** The credentials of a server that was started without `--config`. Everyone knows them: they are for trying it out. */
export const demo = {
  apiKeyName: 'demo',
  apiKey: 'demo-api-key-of-the-example',
  iss: 'https://issuer.example',
  secret: 'demo-secret-of-the-example-which-everyone-knows',
  alg: 'HS256',
} as const

export const demoAuth: AuthConfig = {
  apiKeys: new Map([[demo.apiKeyName, demo.apiKey]]),
  issuers: [{ iss: demo.iss, alg: demo.alg, key: { secret: demo.secret } }],
}
