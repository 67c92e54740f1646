import { dirname, resolve } from 'node:path'
import { type Clock, createLimiter, type Limiter, type LimiterOptions } from '../src/index.ts'
import type { AuthConfig } from './auth/identify.ts'
import { parseAuth } from './config-auth.ts'
import { type OwnLimits, readOverrides } from './config-overrides.ts'
import { hide, isTable, type Report, unknownKeys } from './config-values.ts'
import { StartProblem } from './problem.ts'
import { parseToml, readConfigFile } from './toml-file.ts'

/** What a configuration file decides. */
export interface ExampleConfig {
  auth: AuthConfig
  limiter: Limiter
  overrides: readonly OwnLimits[]
}

/**
 * Reads a configuration file: `[rate_limits]`, in the spelling of the spec, and `[auth]`.
 * @param file Its path; a `jwks_file` in it is relative to its folder.
 * @param clock Of the limiter. Default: the system's.
 * @throws {StartProblem} listing everything that is wrong in it, or why it cannot be read.
 */
export function loadConfig(file: string, clock?: Clock): ExampleConfig {
  return parseConfig(readConfigFile(file), file, clock)
}

/** As `loadConfig`, for the text of a file that has been read. */
export function parseConfig(text: string, file: string, clock?: Clock): ExampleConfig {
  const problems: string[] = []
  const report: Report = (path, problem) => problems.push(`${path}: ${problem}`)
  const { rate_limits: rateLimits, auth, ...others } = parseToml(text, file)
  unknownKeys('', others, ['rate_limits', 'auth'], report)
  const limiter = tryLimiter(rateLimits, report, clock)
  const parsedAuth = parseAuth(auth, dirname(resolve(file)), report)
  const overrides = readOverrides(rateLimits, auth, report)
  if (!limiter || problems.length > 0) throw new StartProblem(problems.map((problem) => `${file}: ${problem}`))
  return { auth: parsedAuth, limiter, overrides }
}

function tryLimiter(rateLimits: unknown, report: Report, clock: Clock | undefined): Limiter | undefined {
  if (rateLimits !== undefined && !isTable(rateLimits)) {
    report('rate_limits', `must be a table, got ${hide(rateLimits)}`)
    return undefined
  }
  try {
    return createLimiter({ ...(rateLimits && { rateLimits }), ...(clock && { clock }) } as LimiterOptions)
  } catch (error) {
    const { problems } = error as { problems?: readonly { path: string; message: string }[] }
    if (!problems) throw error
    for (const { path, message } of problems) report(inFileSpelling(path), withoutTexts(inFileSpelling(message)))
    return undefined
  }
}

/** The plugin names options as TypeScript spells them, where they are missing. Where both spellings stand, both are named. */
function inFileSpelling(text: string): string {
  const name =
    /\b(?:rateLimits|trustedProxies|maxMemoryMib|boundsMemoryMib|windowSeconds|nextEpochInMs)\b(?!" are one key in two spellings)/g
  return text.replace(name, (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`))
}

/**
 * The plugin shows the value that it found. Where that is a text as long as a key, it may be one that stands in the wrong
 * place (`api_key = "…"` in a category), and is not shown.
 */
function withoutTexts(message: string): string {
  const found = /, got (.*)$/s.exec(message)
  if (!found || !/["']/.test(found[1]!) || found[1]!.length < 10) return message
  return `${message.slice(0, found.index)}, got something else (not shown: it may be a secret)`
}
