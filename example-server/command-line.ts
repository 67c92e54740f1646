import { readArguments } from './arguments.ts'
import { readListenAddress, readPort } from './listen.ts'
import { StartProblem } from './problem.ts'

/** What the arguments and the environment say. */
export interface CommandLine {
  help: boolean
  config?: string
  /** Default: in memory. */
  database?: string
  /** Default 127.0.0.1. */
  host: string
  /** HTTP/1.1. Default 5050; 0: any free port. */
  port: number
  /** HTTP/2 without TLS. Default: `port` + 1, or 0 when that is 0. */
  h2cPort: number
}

export const USAGE = `Usage: node example-server/main.ts [--config FILE] [--database FILE]

  --config FILE    limits and credentials, in TOML (see example-server/demo.toml);
                   default: the default limits and the demo credentials
  --database FILE  where envelopes are kept, in SQLite; default: in memory
  --help           print this and stop

Environment:
  PORT      of HTTP/1.1, for browsers, curl and Connect; default 5050; 0: any free port
  H2C_PORT  of HTTP/2 without TLS, for gRPC; default PORT + 1; 0: any free port
  HOST      the address to listen at; default 127.0.0.1
`

const OPTIONS = {
  config: { type: 'string' },
  database: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const

/** @throws {StartProblem} listing everything that is wrong. */
export function readCommandLine(args: readonly string[], env: NodeJS.ProcessEnv): CommandLine {
  const problems: string[] = []
  const values = readArguments(args, OPTIONS, problems)
  const { host, port } = readListenAddress(env, problems)
  const h2cPort = readPort('H2C_PORT', env.H2C_PORT, port === 0 ? 0 : port + 1, problems)
  if (port !== 0 && h2cPort === port) problems.push(`H2C_PORT: must not be PORT, got ${port}`)
  if (h2cPort > 65_535) problems.push(`PORT: must be at most 65534 when H2C_PORT is not set, got ${port}`)
  for (const name of ['config', 'database'] as const) {
    if (values[name] === '') problems.push(`--${name}: must be a file, got ""`)
  }
  if (problems.length > 0) throw new StartProblem(problems)
  return { ...values, help: values.help ?? false, host, port, h2cPort }
}
