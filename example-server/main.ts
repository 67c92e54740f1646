import { setTimeout } from 'node:timers/promises'
import { banner } from './banner.ts'
import { readCommandLine, USAGE } from './command-line.ts'
import { loadConfig } from './config.ts'
import { demo } from './demo.ts'
import { buildPage } from './page-files.ts'
import { StartProblem } from './problem.ts'
import { type Addresses, createExampleServer, type ExampleServer } from './server.ts'

/** How long running requests may take to finish when the server is told to stop. */
const GRACE_MS = 5000

try {
  await start()
} catch (error) {
  if (!(error instanceof StartProblem)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}

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
  const urls = await listen(server, addresses)
  process.once('SIGTERM', () => stop(server))
  process.once('SIGINT', () => stop(server))
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

async function listen(server: ExampleServer, addresses: Addresses & { host: string }) {
  try {
    return await server.listen(addresses)
  } catch (error) {
    await server.close()
    const { code, port, syscall } = error as NodeJS.ErrnoException & { port?: number }
    if (code === undefined || syscall === undefined) throw error
    const what =
      syscall === 'listen' ? `port ${port} of ${JSON.stringify(addresses.host)}` : JSON.stringify(addresses.host)
    throw new StartProblem([
      `PORT, H2C_PORT, HOST: must be where this server can listen, got ${what} (${code === 'EADDRINUSE' ? 'in use already: set PORT to another' : code})`,
    ])
  }
}

async function stop(server: ExampleServer): Promise<void> {
  const late = new AbortController()
  const closed = server.close().then(() => late.abort())
  await Promise.race([closed, setTimeout(GRACE_MS, undefined, { signal: late.signal }).catch(() => {})])
  process.exit(0)
}
