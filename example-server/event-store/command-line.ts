import { readArguments } from '../arguments.ts'
import { type ListenAddress, readListenAddress } from '../listen.ts'
import { StartProblem } from '../problem.ts'
import { DEMO_TOKEN, isToken } from './api-token.ts'
import { MAX_REQUESTS_PER_SECOND } from './limits.ts'

/** What the arguments and the environment say. */
export interface CommandLine extends ListenAddress {
  help: boolean
  apiToken: string
  /** Of one client, in read-equivalent requests; 0: not limited. Default: by the CPUs. */
  requestsPerSecond?: number
  /** Default: in memory. */
  database?: string
  developmentMode: boolean
}

const RATE = 'rate-limit-requests-per-second'

export const USAGE = `Usage: node example-server/event-store/main.ts [options]

  --api-token TOKEN    what clients send as "Authorization: Bearer TOKEN";
                       default: ${DEMO_TOKEN}, which everyone knows
  --${RATE} N
                       what one client may send, in read-equivalent requests;
                       default: 1000 for each CPU; 0: no limit, and none of open streams
  --database FILE      where events are kept, in SQLite; default: in memory
  --development-mode   also serve profiles of the server, at /debug/profiles/
  --help               print this and stop

Environment:
  PORT        default 5050; 0: any free port
  HOST        the address to listen at; default 127.0.0.1
  GOMAXPROCS  the number of CPUs, in place of what the host or the container says
`

const OPTIONS = {
  'api-token': { type: 'string' },
  [RATE]: { type: 'string' },
  database: { type: 'string' },
  'development-mode': { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const

/** @throws {StartProblem} listing everything that is wrong; the token is not shown. */
export function readCommandLine(args: readonly string[], env: NodeJS.ProcessEnv): CommandLine {
  const problems: string[] = []
  const values = readArguments(joinNegative(args), OPTIONS, problems)
  const address = readListenAddress(env, problems)
  const apiToken = values['api-token'] ?? DEMO_TOKEN
  if (!isToken(apiToken)) {
    problems.push('--api-token: must be 1 to 1024 visible ASCII characters, got something else (not shown)')
  }
  const requestsPerSecond = rateOf(values[RATE], problems)
  const { database } = values
  if (database === '') problems.push('--database: must be a file, got ""')
  if (problems.length > 0) throw new StartProblem(problems)
  return {
    ...address,
    help: values.help ?? false,
    apiToken,
    developmentMode: values['development-mode'] ?? false,
    ...(requestsPerSecond !== undefined && { requestsPerSecond }),
    ...(database !== undefined && { database }),
  }
}

/** `--rate… -5`: parseArgs takes a value that starts with a dash only after `=`. */
function joinNegative(args: readonly string[]): string[] {
  const joined: string[] = []
  for (const arg of args) {
    if (joined.at(-1) === `--${RATE}` && /^-[^-]/.test(arg)) joined[joined.length - 1] += `=${arg}`
    else joined.push(arg)
  }
  return joined
}

function rateOf(text: string | undefined, problems: string[]): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,10}$/.test(text) && Number(text) <= MAX_REQUESTS_PER_SECOND) return Number(text)
  // Without the sign, as Number() takes no -0x10.
  if (text.trim().startsWith('-') && Number(text.trim().slice(1)) > 0)
    problems.push('you must not specify a negative rate limit')
  else {
    problems.push(
      `--${RATE}: must be a whole number from 0 (no limit) to ${MAX_REQUESTS_PER_SECOND}, got ${JSON.stringify(text)}`,
    )
  }
  return undefined
}
