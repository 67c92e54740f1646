import { hide, isTable, type Report, type Table, unknownKeys } from '../config-values.ts'
import { parseToml } from '../toml-file.ts'

export const WINDOWS = ['minute', 'hour', 'day'] as const
export type WindowName = (typeof WINDOWS)[number]

/** Messages by window. 0: that window is not looked at; -1: nothing is admitted. */
export type Counts = Readonly<Record<WindowName, number>>

export interface RelayLimits {
  /** Of each sender. */
  sender: Counts
  /** Of the relay as a whole. */
  global: Counts
}

export const DEFAULT_LIMITS: RelayLimits = {
  sender: { minute: 20, hour: 200, day: 1000 },
  global: { minute: 1000, hour: 100_000, day: 1_000_000 },
}

/** What the limiter counts to. */
const MAX_COUNT = 1_000_000_000
const TABLES = { sender: 'rate_limit', global: 'global_rate_limit' } as const
const ALLOWED = `must be a whole number from 1 to ${MAX_COUNT}, 0 (this window is not limited) or -1 (everything is blocked)`

/**
 * Reads the six limits: from the environment, else from a configuration file, else the defaults. `RATE_LIMIT_MINUTE` is
 * `minute` in the table `[rate_limit]` of the file, `GLOBAL_RATE_LIMIT_DAY` is `day` in `[global_rate_limit]`, and so on.
 * @param file The configuration, in TOML: its text, and its name for messages.
 * @param problems Takes everything that is wrong in either, also where the other goes over it.
 * @throws {StartProblem} when the file is no TOML.
 */
export function readLimits(
  env: NodeJS.ProcessEnv,
  file: { name: string; text: string } | undefined,
  problems: string[],
): RelayLimits {
  const tables = file && readTables(file.text, file.name, problems)
  const read = (scope: keyof typeof TABLES): Counts => {
    const [minute, hour, day] = WINDOWS.map((window) => {
      const name = `${TABLES[scope]}_${window}`.toUpperCase()
      return readVariable(name, env[name], problems) ?? tables?.[scope][window] ?? DEFAULT_LIMITS[scope][window]
    })
    return { minute: minute!, hour: hour!, day: day! }
  }
  return { sender: read('sender'), global: read('global') }
}

function readVariable(name: string, text: string | undefined, problems: string[]): number | undefined {
  if (text === undefined) return undefined
  // No sign, space, leading zero or exponent: what looks odd may mean something else to somebody else.
  if (/^(-1|0|[1-9]\d*)$/.test(text) && Number(text) <= MAX_COUNT) return Number(text)
  problems.push(`${name}: ${ALLOWED}, got ${JSON.stringify(text)}`)
  return undefined
}

function readTables(text: string, file: string, problems: string[]) {
  const report: Report = (path, problem) => problems.push(`${file}: ${path}: ${problem}`)
  // As bigint, so that 20.0 is told from 20.
  const { rate_limit: sender, global_rate_limit: global, ...others } = parseToml(text, file, { integersAsBigInt: true })
  unknownKeys('', others, Object.values(TABLES), report)
  return { sender: readCounts(TABLES.sender, sender, report), global: readCounts(TABLES.global, global, report) }
}

function readCounts(path: string, table: unknown, report: Report): Partial<Counts> {
  if (table === undefined) return {}
  if (!isTable(table)) {
    report(path, `must be a table, got ${hide(table)}`)
    return {}
  }
  const { minute, hour, day, ...others } = table
  unknownKeys(path, others, WINDOWS, report)
  return Object.fromEntries(
    Object.entries({ minute, hour, day } satisfies Table)
      .filter(([, value]) => value !== undefined)
      .map(([window, value]) => {
        if (typeof value === 'bigint' && value >= -1n && value <= MAX_COUNT) return [window, Number(value)]
        const shown = typeof value === 'bigint' ? value : typeof value === 'number' ? `the float ${value}` : hide(value)
        report(`${path}.${window}`, `${ALLOWED}, got ${shown}`)
        return [window, 0]
      }),
  )
}
