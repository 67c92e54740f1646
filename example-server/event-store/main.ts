import { join } from 'node:path'
import { listenAt, run, stopOnSignals } from '../listen.ts'
import { buildPage } from '../page-files.ts'
import { DEMO_TOKEN } from './api-token.ts'
import { banner } from './banner.ts'
import { readCommandLine, USAGE } from './command-line.ts'
import { readCpus } from './cpus.ts'
import { createEventStoreServer } from './server.ts'

const PAGE = join(import.meta.dirname, '../page/event-store')

await run(async () => {
  const { help, host, port, ...options } = readCommandLine(process.argv.slice(2), process.env)
  if (help) {
    process.stdout.write(USAGE)
    return
  }
  const cpus = readCpus()
  // esbuild, which bundles the page, would run as many threads.
  delete process.env.GOMAXPROCS
  const limits = { ...options, cpus: cpus.count }
  const server = await createEventStoreServer({ ...limits, page: await buildPage(PAGE) })
  const url = await listenAt(server.app, { host, port }).catch(async (error) => {
    await server.close()
    throw error
  })
  stopOnSignals(() => server.close())
  const { apiToken, database } = options
  process.stdout.write(
    banner({
      url,
      cpus,
      limits,
      ...(apiToken === DEMO_TOKEN && { demoToken: apiToken }),
      ...(database !== undefined && { database }),
    }),
  )
})
