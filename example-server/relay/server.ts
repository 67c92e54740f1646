import fastify, { type FastifyInstance } from 'fastify'
import allowance, { type Clock, type Limiter, systemClock } from '../../src/index.ts'
import { DOMAIN } from '../domain.ts'
import { type LogStream, loggerOptions } from '../logging.ts'
import { addPlainAnswers, answerClientError, answerFrameworkError } from '../plain-answers.ts'
import { createRelayLimiter, rejectionRenderer } from './limits.ts'
import { addRoutes } from './routes.ts'
import { DEFAULT_LIMITS, type RelayLimits } from './settings.ts'
import { RelayStore } from './store.ts'

/** Options of `createRelayServer`; each may be left out. */
export interface RelayServerOptions {
  /** Default: those of the document. */
  limits?: RelayLimits
  /** Default: the system's. */
  clock?: Clock
  /** A SQLite file. Default: in memory. */
  database?: string
  /** Messages kept; then the oldest go. Default 10,000. */
  maxMessages?: number
  /** Senders whose counters are kept; of more, those are forgotten that are the first to be full again. Default 100,000. */
  maxSenders?: number
  /** Where log lines go. Default: standard output; false: nowhere. */
  log?: LogStream | false
}

export interface RelayServer {
  app: FastifyInstance
  limiter: Limiter
  store: RelayStore
  /** Lets running requests finish, and closes the listener and the database. */
  close(): Promise<void>
}

/**
 * Makes the server, ready to listen or for `inject`.
 * @throws {StartProblem} when the database cannot be opened.
 */
export async function createRelayServer(options: RelayServerOptions = {}): Promise<RelayServer> {
  const { limits = DEFAULT_LIMITS, clock = systemClock, database, maxMessages, maxSenders, log } = options
  const store = new RelayStore(database, maxMessages)
  const limiter = createRelayLimiter(limits, clock, maxSenders)
  const app = fastify({
    logger: log === false ? false : loggerOptions(log),
    clientErrorHandler: answerClientError,
    frameworkErrors: answerFrameworkError,
    // A request that dribbles in is ended.
    requestTimeout: 60_000,
  })
  addPlainAnswers(app)
  await app.register(allowance, { limiter, domain: DOMAIN, renderRejection: rejectionRenderer(limits, clock) })
  addRoutes(app, store, clock)
  await app.ready()
  return {
    app,
    limiter,
    store,
    async close() {
      await app.close()
      store.close()
    },
  }
}
