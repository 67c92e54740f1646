import { readArguments } from '../arguments.ts'
import { listenAt, readListenAddress, run, stopOnSignals } from '../listen.ts'
import { StartProblem } from '../problem.ts'
import { readConfigFile } from '../toml-file.ts'
import { banner } from './banner.ts'
import { createRelayServer } from './server.ts'
import { readLimits } from './settings.ts'

const USAGE = `Usage: node example-server/relay/main.ts [--config FILE] [--database FILE]

  --config FILE    limits, in TOML (see example-server/relay/demo.toml); default: those of the document
  --database FILE  where messages are kept, in SQLite; default: in memory
  --help           print this and stop

Environment, which goes over the file:
  RATE_LIMIT_MINUTE, RATE_LIMIT_HOUR, RATE_LIMIT_DAY                       of each sender
  GLOBAL_RATE_LIMIT_MINUTE, GLOBAL_RATE_LIMIT_HOUR, GLOBAL_RATE_LIMIT_DAY  of the relay as a whole
            0: that window is not limited; -1: everything is blocked.
            Hour and day are the estimate from two windows: never more than 2 N pass in any such time, and
            after N at once the next may have to wait an N-th longer than the window.
  PORT      default 5050; 0: any free port
  HOST      the address to listen at; default 127.0.0.1

Variables must be exported. Node reads them from a file too: node --env-file=.env example-server/relay/main.ts
`
const OPTIONS = {
  config: { type: 'string' },
  database: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const

await run(async () => {
  const problems: string[] = []
  const { config, database, help } = readArguments(process.argv.slice(2), OPTIONS, problems)
  if (help) return void process.stdout.write(USAGE)
  const address = readListenAddress(process.env, problems)
  for (const [name, value] of Object.entries({ config, database })) {
    if (value === '') problems.push(`--${name}: must be a file, got ""`)
  }
  const file = config === undefined || config === '' ? undefined : { name: config, text: readConfigFile(config) }
  const limits = readLimits(process.env, file, problems)
  if (problems.length > 0) throw new StartProblem(problems)
  const server = await createRelayServer({ limits, ...(database !== undefined && { database }) })
  const url = await listenAt(server.app, address)
  stopOnSignals(server.close)
  process.stdout.write(banner({ url, limits, config, database }))
})
