import { join } from 'node:path'
import { exportJWK, generateKeyPair } from 'jose'
import t from 'tap'
import { parseConfig } from '../../example-server/config.ts'
import { StartProblem } from '../../example-server/problem.ts'

const { publicKey } = await generateKeyPair('ES256', { extractable: true })
const file = join(t.testdir({ 'public.json': JSON.stringify({ keys: [await exportJWK(publicKey)] }) }), 'server.toml')

/** An override of the caller that has these keys. */
const override = (caller: string) =>
  `[[rate_limits.overrides]]\ncaller = { ${caller} }\ncategories = { publish = [] }\n`

const problemsOf = (toml: string): readonly string[] => {
  try {
    parseConfig(toml, file)
    return []
  } catch (error) {
    if (!(error instanceof StartProblem)) throw error
    return error.problems
  }
}

t.test('a secret that stands where it should not is not shown, in whatever form', async (t) => {
  const LONG = 'this is a secret that must not be shown'
  const secrets = ['sk-live-8', 'sk-live-0123456789', LONG, `${LONG} ${LONG}`]
  const places = [
    '= "S"',
    'S',
    '"S"',
    '"S" = 1\n"S" = 2',
    'auth = "S"',
    'auth = ["S"]',
    'rate_limits = "S"',
    '[auth]\napi_keys = "S"',
    '[auth]\napi_keys = ["S"]',
    '[auth]\napi_key = "S"',
    '[auth]\nsecret = "S"',
    '[auth]\nissuers = "S"',
    '[auth]\nissuers = ["S"]',
    '[auth]\nissuers = [["S"]]',
    '[auth.issuers]\nsecret = "S"',
    '[auth.api_keys]\na = ["S"]',
    '[auth.api_keys]\na = { key = "S" }',
    '[auth.api_keys]\na = "S\\t"',
    '[auth.api_keys]\n"S" = "indexer"',
    '[auth.api_keys]\n"S" = "12345678"\n"other" = "12345678"',
    ...['["S"]', '{ a = "S" }'].flatMap((wrong) => [
      `[[auth.issuers]]\nsecret = ${wrong}`,
      ...['iss', 'audience'].map((key) => `[[auth.issuers]]\njwks_file = "public.json"\n${key} = ${wrong}`),
    ]),
    ...['"S"', '["S"]', '{ a = "S" }'].flatMap((wrong) => [
      `[[auth.issuers]]\njwks_file = ${wrong}`,
      `[[auth.issuers]]\njwks_file = "public.json"\nalg = ${wrong}`,
      `[[auth.issuers]]\nsecret = "${'x'.repeat(40)}"\nalg = ${wrong}`,
    ]),
    '[[auth.issuers]]\nsecret = "S"\njwks_file = "S"',
    '[[auth.issuers]]\nsecret = "S"\nalg = "RS256"',
    '[[auth.issuers]]\nsecret = "S"\nalg = "S"',
    '[[auth.issuers]]\nkid = "S"',
    '[rate_limits]\nenabled = "S"',
    '[rate_limits]\nmax_memory_mib = "S"',
    '[rate_limits]\napi_keys = { a = "S" }',
    '[rate_limits]\noverrides = "S"',
    '[rate_limits]\noverrides = ["S"]',
    '[rate_limits.categories]\napi_key = "S"',
    '[rate_limits.categories.publish]\napi_key = "S"',
    '[rate_limits.categories.publish]\napi_key = ["S"]',
    '[rate_limits.categories.publish]\napi_key = [{ count = "S", window_seconds = 1 }]',
    '[rate_limits.categories.publish]\napi_key = { count = "S" }',
    '[[rate_limits.overrides]]\ncaller = "S"\ncategories = { publish = [] }',
    override('type = "S"'),
    override('type = "api_key", key = "S"'),
    override('type = "api_key", name = "S"'),
    override('type = "api_key", name = ["S"]'),
    override('type = "ip", address = "S"'),
    override('type = "jwt", iss = "S", sub = "a"'),
    override('type = "jwt", iss = ["S"], sub = "a"'),
    '[[rate_limits.overrides]]\ncaller = { type = "api_key", name = "a" }\ncategories = { publish = "S" }',
  ]
  for (const place of places) {
    for (const secret of secrets) {
      const toml = place.replace(/\bS\b/g, () => secret)
      const problems = problemsOf(toml).join('\n')
      t.not(problems, '', `${toml}: is refused`)
      t.notMatch(problems, secret.slice(0, 8), `${toml}: ${problems}`)
    }
  }
})
