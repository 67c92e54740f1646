import fastify, { type FastifyInstance, type onRequestHookHandler } from 'fastify'
import allowance, { type Clock, type Limiter, systemClock } from '../../src/index.ts'
import { type LogStream, loggerOptions } from '../logging.ts'
import type { Page } from '../page-files.ts'
import { addPage } from '../page-route.ts'
import { answerClientError } from '../plain-answers.ts'
import { addAnswers, toRoutable } from './answers.ts'
import { type ApiRoute, type Services, VERSIONS } from './api.ts'
import { createHasToken, DEMO_TOKEN } from './api-token.ts'
import { bounds } from './bounds.ts'
import { addCatalog } from './catalog.ts'
import { addJsonBodies, addUploads } from './json-body.ts'
import { type LimitsConfig, limitOptions, routeAllowance } from './limits.ts'
import { OpenStreams } from './ndjson.ts'
import { Observers } from './observers.ts'
import { addProfiles } from './profiles.ts'
import { backupRoutes } from './routes/backups.ts'
import { checkRoutes } from './routes/checks.ts'
import { listingRoutes } from './routes/listing.ts'
import { readingRoutes } from './routes/reading.ts'
import { statusRoutes } from './routes/status.ts'
import { writingRoutes } from './routes/writing.ts'
import { EventStore } from './store.ts'

/** Options of `createEventStoreServer`; each but `cpus` may be left out. */
export interface EventStoreOptions extends LimitsConfig {
  /** Default: the one that everyone knows. */
  apiToken?: string
  /** A SQLite file. Default: in memory. */
  database?: string
  /** The page at `/`, from `buildPage`. Default: none. */
  page?: Page
  /** Whether profiles are served. Default: no. */
  developmentMode?: boolean
  /** Default: the system's. */
  clock?: Clock
  /** Milliseconds after which a connection on which nothing moves is given up. Default 60,000. */
  idleMs?: number
  /** Where log lines go. Default: standard output; false: nowhere. */
  log?: LogStream | false
}

export interface EventStoreServer {
  app: FastifyInstance
  store: EventStore
  limiter: Limiter
  observers: Observers
  /** Ends the streams, lets other requests finish, and closes the listener and the database. */
  close(): Promise<void>
}

/**
 * Makes the server, ready to listen or for `inject`.
 * @throws {StartProblem} when the database cannot be opened.
 */
export async function createEventStoreServer(options: EventStoreOptions): Promise<EventStoreServer> {
  const { apiToken = DEMO_TOKEN, database, page, developmentMode = false, clock = systemClock, log } = options
  const { idleMs = bounds.idleMs } = options
  const app = fastify({
    logger: log === false ? false : loggerOptions(log),
    clientErrorHandler: answerClientError,
    rewriteUrl: toRoutable,
    bodyLimit: bounds.requestBytes,
    // A request that dribbles in is ended, and so is a connection whose client is gone or takes nothing.
    requestTimeout: bounds.idleMs,
    connectionTimeout: idleMs,
  }) as FastifyInstance
  // A request that expects what there is not is one that counts; Node would answer it by itself.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  const hasToken = createHasToken(apiToken)
  const services: Services = {
    store: new EventStore(database),
    observers: new Observers(clock),
    streams: new OpenStreams(),
    clock,
    limits: options,
  }
  const methods = new Map<string, string[]>()
  app.addHook('onRoute', ({ url, method }) => {
    methods.set(url, [...(methods.get(url) ?? []), ...[method].flat()])
  })

  await app.register(allowance, { domain: 'event-store.example', clock, ...limitOptions(options, hasToken) })
  addAnswers(app, (path) => methods.get(path) ?? [])
  addJsonBodies(app)
  const requireToken: onRequestHookHandler = (request, reply, done) => {
    if (hasToken(request)) return done()
    reply.code(401).header('www-authenticate', 'Bearer').send({ error: 'an API token is needed' })
  }
  const routes = [
    ...statusRoutes(services),
    ...writingRoutes(services),
    ...readingRoutes(services),
    ...listingRoutes(services),
    ...backupRoutes(services),
    ...checkRoutes(services),
  ]
  addRoutes(
    app,
    routes.filter(({ uploads }) => !uploads),
    options,
    requireToken,
  )
  await app.register(async (uploads) => {
    addUploads(uploads)
    addRoutes(
      uploads,
      routes.filter((route) => route.uploads),
      options,
      requireToken,
    )
  })
  addCatalog(app, routes)
  if (page !== undefined) addPage(app, page, apiToken === DEMO_TOKEN ? DEMO_TOKEN : '', 'no-cache')
  if (developmentMode) addProfiles(app, requireToken)
  app.addHook('preClose', async () => services.streams.close())
  await app.ready()
  return {
    app,
    store: services.store,
    limiter: app.allowance.limiter,
    observers: services.observers,
    async close() {
      await app.close()
      services.store.close()
    },
  }
}

function addRoutes(
  app: FastifyInstance,
  routes: readonly ApiRoute[],
  limits: LimitsConfig,
  requireToken: onRequestHookHandler,
): void {
  for (const version of VERSIONS) {
    for (const route of routes) {
      app.route({
        method: route.method,
        url: `/api/${version}/${route.name}`,
        config: { allowance: routeAllowance(route, limits), probe: route.probe === true },
        ...(!route.open && { onRequest: requireToken }),
        handler: (request, reply) => route.handle(request, reply, version),
      })
    }
  }
}
