import { join, relative } from 'node:path'
import { readArguments } from '../arguments.ts'
import { listenAt, readListenAddress, run, stopOnSignals } from '../listen.ts'
import { StartProblem } from '../problem.ts'
import { banner } from './banner.ts'
import { loadConfig } from './config.ts'
import { createSettlementServer } from './server.ts'
import { signAsTold } from './sign.ts'

const DEMO = relative('', join(import.meta.dirname, 'demo.toml'))
const USAGE = `Usage: npm run settlement -- [--config FILE] [--database FILE]
       npm run -s settlement -- sign [--help]   prints a signed call

  --config FILE    networks, their limits and epochs, in TOML; default: ${DEMO}
  --database FILE  where what has been settled is kept, in SQLite; default: in memory
  --help           print this and stop

Environment:
  PORT  default 5050; 0: any free port
  HOST  the address to listen at; default 127.0.0.1
`
const OPTIONS = {
  config: { type: 'string' },
  database: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const

const [command, ...args] = process.argv.slice(2)

await run(async () => {
  if (command === 'sign') return void process.stdout.write(signAsTold(args))
  const problems: string[] = []
  const { config: file = DEMO, database, help } = readArguments(process.argv.slice(2), OPTIONS, problems)
  if (help) return void process.stdout.write(USAGE)
  const address = readListenAddress(process.env, problems)
  if (database === '') problems.push('--database: must be a file, got ""')
  if (problems.length > 0) throw new StartProblem(problems)
  const config = loadConfig(file)
  const server = await createSettlementServer({ config, ...(database !== undefined && { database }) })
  const url = await listenAt(server.http, address)
  stopOnSignals(server.close)
  process.stdout.write(banner({ url, config, file, database }))
})
