import { parseArgs } from 'node:util'
import { SignJWT } from 'jose'
import { loadConfig } from './config.ts'
import { demoAuth } from './demo.ts'
import { StartProblem } from './problem.ts'

const USAGE = `Usage: npm run token -- [--iss ISS] [--sub SUB] [--audience AUD] [--expires-in SECONDS] [--config FILE]

Prints a JSON Web Token that the example server accepts, signed with the secret that it shares with an issuer.

  --config FILE         the server's configuration; default: the demo credentials
  --iss ISS             the issuer; default: the first that the server shares a secret with
  --sub SUB             the subject, who is charged; default: none, and the client address is charged
  --audience AUD        default: the one that the configuration asks for
  --expires-in SECONDS  default 3600
`

const options = {
  config: { type: 'string' },
  iss: { type: 'string' },
  sub: { type: 'string' },
  audience: { type: 'string' },
  'expires-in': { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const

async function mint(args: readonly string[]): Promise<string> {
  const values = parse(args)
  if (values.help) return USAGE
  const { config, sub, 'expires-in': expiresIn = '3600' } = values
  const { issuers } = config === undefined ? demoAuth : loadConfig(config).auth
  const { iss = issuers.find(({ key }) => 'secret' in key)?.iss ?? '' } = values
  const issuer = issuers.find((candidate) => candidate.iss === iss)
  if (!issuer || !('secret' in issuer.key)) {
    const known = issuers.filter(({ key }) => 'secret' in key).map((known) => JSON.stringify(known.iss))
    throw new StartProblem([`--iss: must be one of ${known.join(', ')}, got ${JSON.stringify(iss)}`])
  }
  if (!/^\d{1,9}$/.test(expiresIn)) {
    throw new StartProblem([
      `--expires-in: must be a whole number of seconds from 0 to 999999999, got ${JSON.stringify(expiresIn)}`,
    ])
  }
  const audience = values.audience ?? issuer.audience
  const nowSeconds = Math.floor(Date.now() / 1000)
  const token = new SignJWT({
    ...(iss !== '' && { iss }),
    ...(sub !== undefined && { sub }),
    ...(audience !== undefined && { aud: audience }),
    iat: nowSeconds,
    exp: nowSeconds + Number(expiresIn),
  })
  return `${await token.setProtectedHeader({ alg: issuer.alg }).sign(new TextEncoder().encode(issuer.key.secret))}\n`
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options }).values
  } catch (error) {
    const allowed = Object.keys(options).map((name) => `--${name}`)
    throw new StartProblem([`arguments: ${(error as Error).message.split('. ', 1)[0]}; allowed: ${allowed.join(', ')}`])
  }
}

try {
  process.stdout.write(await mint(process.argv.slice(2)))
} catch (error) {
  if (!(error instanceof StartProblem)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}
