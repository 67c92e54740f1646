import { cors as connectCors, type Interceptor } from '@connectrpc/connect'
import { fastifyConnectPlugin } from '@connectrpc/connect-fastify'
import cors from '@fastify/cors'
import fastify, { type FastifyInstance } from 'fastify'
import allowance, { createLimiter, type Limiter, type StreamsOptions } from '../src/index.ts'
import { type AuthConfig, createIdentify } from './auth/identify.ts'
import { bounds, checkBounds } from './bounds.ts'
import { demo, demoAuth } from './demo.ts'
import { DOMAIN } from './domain.ts'
import { reportFaults } from './faults.ts'
import { Hub } from './live/hub.ts'
import { type LogStream, loggerOptions } from './logging.ts'
import type { Page } from './page-files.ts'
import { addPage } from './page-route.ts'
import { addPlainAnswers, answerClientError, answerFrameworkError } from './plain-answers.ts'
import { createRoutes } from './services/routes.ts'
import { Store } from './store.ts'
import { noteDecoded } from './undecodable.ts'

/** Options of `createExampleServer`; each may be left out. */
export interface ExampleServerOptions {
  /** Who may sign in. Default: the demo credentials. */
  auth?: AuthConfig
  /** The limits, shared by both listeners, with their clock. Default: the default limits. */
  limiter?: Limiter
  /** A SQLite file. Default: in memory. */
  database?: string
  /** The page at `/` of the HTTP/1.1 listener, from `buildPage()`. Default: none. */
  page?: Page
  /** What open streams pay. Default: the plugin's. */
  streams?: StreamsOptions
  /** Where log lines go. Default: standard output; false: nowhere. */
  log?: LogStream | false
}

export interface Addresses {
  /** Default 127.0.0.1. */
  host?: string
  /** Default 0: any free port. */
  port?: number
  /** Default 0: any free port. */
  h2cPort?: number
}

export interface ExampleServer {
  /** HTTP/1.1, for browsers, curl and Connect. */
  http: FastifyInstance
  /** HTTP/2 without TLS, for gRPC. */
  h2c: FastifyInstance
  limiter: Limiter
  store: Store
  /** Which topics the streams hold. */
  hub: Hub
  /** Starts both listeners; returns their URLs, with the real ports. */
  listen(addresses?: Addresses): Promise<{ http: string; h2c: string }>
  /** Lets running requests finish, and closes both listeners and the database. */
  close(): Promise<void>
}

/**
 * Makes the server, ready to listen or for `inject`.
 * @throws {StartProblem} when the database cannot be opened.
 */
export async function createExampleServer(options: ExampleServerOptions = {}): Promise<ExampleServer> {
  const { auth = demoAuth, limiter = createLimiter(), database, page, streams, log } = options
  const store = new Store(database)
  const hub = new Hub()
  const settings = {
    logger: log === false ? false : loggerOptions(log),
    clientErrorHandler: answerClientError,
    frameworkErrors: answerFrameworkError,
    // A request that dribbles in is ended.
    requestTimeout: 60_000,
  }
  const http = fastify(settings) as FastifyInstance
  // Fastify has a type of its own for each kind of server; what is done with this one is the same for all.
  const h2c = fastify({ ...settings, http2: true } as unknown as typeof settings) as FastifyInstance
  const identify = createIdentify(auth)
  const routes = createRoutes({ store, hub, limiter, domain: DOMAIN })
  for (const app of [http, h2c]) {
    if (app === http) await addCors(app)
    addPlainAnswers(app)
    await app.register(allowance, { limiter, identify, domain: DOMAIN, streams, maxDiscardBytes: bounds.requestBytes })
    const interceptors: Interceptor[] = [noteDecoded, reportFaults(app.log), checkBounds]
    await app.register(
      fastifyConnectPlugin,
      app.allowance.connect({ routes, interceptors, readMaxBytes: bounds.requestBytes }),
    )
  }
  const knowsDemoKey = auth.apiKeys.get(demo.apiKeyName) === demo.apiKey
  if (page !== undefined) addPage(http, page, knowsDemoKey ? demo.apiKey : undefined)
  await Promise.all([http.ready(), h2c.ready()])
  return {
    http,
    h2c,
    limiter,
    store,
    hub,
    async listen({ host = '127.0.0.1', port = 0, h2cPort = 0 } = {}) {
      const listenTextResolver = () => 'listening'
      return {
        http: await http.listen({ host, port, listenTextResolver }),
        h2c: await h2c.listen({ host, port: h2cPort, listenTextResolver }),
      }
    },
    async close() {
      await Promise.all([http.close(), h2c.close()])
      store.close()
    },
  }
}

/** Any page may call; it learns what Connect needs, and when to come again. */
async function addCors(app: FastifyInstance): Promise<void> {
  await app.register(cors, {
    origin: '*',
    methods: [...connectCors.allowedMethods],
    allowedHeaders: [...connectCors.allowedHeaders, 'Authorization', 'X-Api-Key'],
    exposedHeaders: [...connectCors.exposedHeaders, 'Retry-After'],
    maxAge: 7200,
  })
}
