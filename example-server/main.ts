import { banner } from './banner.ts'
import { readCommandLine, USAGE } from './command-line.ts'
import { loadConfig } from './config.ts'
import { demo } from './demo.ts'
import { orStartProblem, run, stopOnSignals } from './listen.ts'
import { buildPage } from './page-files.ts'
import { createExampleServer } from './server.ts'

await run(start)

async function start(): Promise<void> {
  const { help, config, database, ...addresses } = readCommandLine(process.argv.slice(2), process.env)
  if (help) {
    process.stdout.write(USAGE)
    return
  }
  const configured = config === undefined ? undefined : loadConfig(config)
  const server = await createExampleServer({
    page: await buildPage(),
    ...(configured && { auth: configured.auth, limiter: configured.limiter }),
    ...(database !== undefined && { database }),
  })
  const close = () => server.close()
  const urls = await orStartProblem('PORT, H2C_PORT, HOST', addresses.host, server.listen(addresses), close)
  stopOnSignals(close)
  process.stdout.write(
    banner({
      ...urls,
      categoryTable: server.http.allowance.categoryTable(),
      limiter: server.limiter,
      ...(configured && { overrides: configured.overrides }),
      ...(config === undefined ? { demoKey: demo.apiKey } : { config }),
      ...(database !== undefined && { database }),
    }),
  )
}
