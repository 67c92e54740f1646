import { join } from 'node:path'
import { readArguments } from '../arguments.ts'
import { listenAt, readListenAddress, run, stopOnSignals } from '../listen.ts'
import { StartProblem } from '../problem.ts'
import { readConfigFile } from '../toml-file.ts'
import { banner } from './banner.ts'
import { parseConfig, wantsDemo } from './config.ts'
import { startDemoUpstream } from './demo-upstream.ts'
import { createGatewayServer } from './server.ts'

const DEMO_FILE = join(import.meta.dirname, 'gateway.toml')

const USAGE = `Usage: node example-server/gateway/main.ts [--config FILE]

  --config FILE  routes, rules and users, in TOML; default: example-server/gateway/gateway.toml
  --help         print this and stop

Environment:
  PORT  default 5050; 0: any free port
  HOST  the address to listen at; default 127.0.0.1
`

await run(async () => {
  const problems: string[] = []
  const options = { config: { type: 'string' }, help: { type: 'boolean', short: 'h' } } as const
  const { config: file, help } = readArguments(process.argv.slice(2), options, problems)
  const address = readListenAddress(process.env, problems)
  if (file === '') problems.push('--config: must be a file, got ""')
  if (problems.length > 0) throw new StartProblem(problems)
  if (help) {
    process.stdout.write(USAGE)
    return
  }
  const text = readConfigFile(file ?? DEMO_FILE)
  const demo = wantsDemo(text) ? await startDemoUpstream() : undefined
  try {
    const config = parseConfig(text, file ?? DEMO_FILE, demo?.url)
    const { app, table } = await createGatewayServer({ config })
    const url = await listenAt(app, address)
    stopOnSignals(async () => {
      await app.close()
      await demo?.close()
    })
    process.stdout.write(banner({ url, routes: table.all(), nodes: config.nodes, isDemo: file === undefined }))
  } catch (error) {
    await demo?.close()
    throw error
  }
})
