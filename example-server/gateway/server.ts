import fastify, { type FastifyInstance } from 'fastify'
import allowance, { AllowanceOptionsError, type Clock, createLimiter, type OptionProblem } from '../../src/index.ts'
import { type LogStream, loggerOptions } from '../logging.ts'
import { answerClientError } from '../plain-answers.ts'
import { StartProblem } from '../problem.ts'
import { addAdmin } from './admin.ts'
import { addErrorAnswers, answerBadPath, sendProblem } from './answers.ts'
import type { GatewayConfig } from './config.ts'
import { addConsole } from './console.ts'
import { createDirectory, type LookUp } from './directory.ts'
import { addForwarding } from './forward.ts'
import { createIdentify } from './identify.ts'
import { readTarget } from './request-path.ts'
import { createRouteTable, type RouteTable, type Target } from './route-table.ts'

export interface GatewayOptions {
  config: GatewayConfig
  /** Of the counters. Default: the system's. */
  clock?: Clock
  /** Default: among the users of the configuration. */
  lookUp?: LookUp
  /** Where log lines go. Default: standard output; false: nowhere. */
  log?: LogStream | false
}

export interface Gateway {
  app: FastifyInstance
  table: RouteTable
  /** How many credentials were looked up. */
  lookUps(): number
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/**
 * Makes the gateway, ready to listen.
 * @throws {StartProblem} when there is no memory for the counters of all rules, or a trusted proxy is no network.
 */
export async function createGatewayServer({ config, clock, lookUp, log }: GatewayOptions): Promise<Gateway> {
  const { adminToken, nodes } = config
  const { limiter, table } = createTable(config, clock)
  let lookUps = 0
  const counted: LookUp = (credential) => {
    lookUps += 1
    return (lookUp ?? directory)(credential)
  }
  const directory = createDirectory(config.users)
  const targets = new WeakMap<object, Target>()

  const app: FastifyInstance = fastify({
    logger: log === false ? false : loggerOptions(log),
    clientErrorHandler: answerClientError,
    frameworkErrors: answerBadPath,
    // A request that dribbles in is ended.
    requestTimeout: 60_000,
  })
  addErrorAnswers(app)
  // Whatever no method of ours takes.
  app.setNotFoundHandler((request, reply) => sendProblem(request, reply.header('allow', METHODS.join(', ')), 405))
  // Before the plugin's: which bounds there are, depends on the route.
  app.addHook('onRequest', async (request, reply) => {
    if (request.routeOptions.url !== '*') return undefined
    const path = readTarget(request.raw.url ?? '')
    if (path === undefined) return sendProblem(request, reply, 400)
    const target = /^\/-(?:\/|$)/.test(path.compared) ? undefined : table.find(request.method, path)
    if (target === undefined) return sendProblem(request, reply, 404)
    targets.set(request, target)
    return undefined
  })
  await app.register(allowance, {
    domain: 'gateway.example',
    // A refusal waits for no body.
    maxDiscardBytes: 0,
    limiter,
    identify: createIdentify(counted),
    rateLimitHeaders: { fields: 'legacy' },
    instances: nodes,
  })
  const forward = await addForwarding(app)
  addAdmin(app, { table, adminToken, context: config })
  addConsole(app, { table, adminToken, nodes })
  app.register(async (scope) => {
    // Bodies go through as they come.
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, body, done) => done(null, body))
    scope.route({
      method: METHODS,
      url: '*',
      config: { allowance: { bounds: (request) => table.boundsOf(targets.get(request)!) } },
      handler: (request, reply) => forward(targets.get(request)!, request, reply),
    })
  })
  await app.ready()
  for (const { name, warnings } of table.all()) {
    for (const warning of warnings) app.log.warn({ route: name }, warning)
  }
  return { app, table, lookUps: () => lookUps }
}

function createTable(config: GatewayConfig, clock: Clock | undefined) {
  const { file, trustedProxies, maxMemoryMib } = config
  const limiter = orProblems(
    () =>
      createLimiter({
        rateLimits: {
          trustedProxies,
          // All but the least that a limiter needs is for the rules, which may be saved at any time.
          maxMemoryMib: maxMemoryMib + 1,
          boundsMemoryMib: maxMemoryMib,
          // Nothing but the rules of the routes bounds a request.
          categories: { request: { default: [] } },
        },
        ...(clock && { clock }),
      }),
    ({ path, message }) => `${file}: ${path.replace('rateLimits.trustedProxies', 'trusted_proxies')}: ${message}`,
  )
  const table = createRouteTable(limiter)
  for (const route of config.routes) {
    const tooLittle = `${file}: max_memory_mib: must be enough for the counters of all rules, got ${maxMemoryMib}: too little for the route ${route.name}`
    orProblems(
      () => table.save(route),
      () => tooLittle,
    )
  }
  return { limiter, table }
}

function orProblems<T>(make: () => T, lineOf: (problem: OptionProblem) => string): T {
  try {
    return make()
  } catch (error) {
    if (!(error instanceof AllowanceOptionsError)) throw error
    throw new StartProblem([...new Set(error.problems.map(lineOf))])
  }
}
