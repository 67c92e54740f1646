import fastify, { type FastifyError, type FastifyInstance } from 'fastify'
import { type Clock, systemClock } from '../../src/index.ts'
import { type LogStream, loggerOptions } from '../logging.ts'
import { addPlainAnswers, answerClientError, answerFrameworkError } from '../plain-answers.ts'
import type { SettlementConfig } from './config.ts'
import { type Epochs, wallClockEpochs } from './epochs.ts'
import { type Answer, answerCalls, type Method, refusal } from './json-rpc.ts'
import { createL1, type Settle } from './l1.ts'
import { Quota } from './quota.ts'
import { Settled } from './settled.ts'
import { Settlements } from './settlements.ts'

export interface SettlementServerOptions {
  config: SettlementConfig
  /** Of the limits. Default: the system's. */
  clock?: Clock
  /** Default: those of the config, by the wall time of `clock`. */
  epochs?: Epochs
  /** Default: the stand-in for the L1 that the config sets up. */
  settle?: Settle
  /** A SQLite file for what has been settled. Default: in memory. */
  database?: string
  /** Where log lines go. Default: standard output; false: nowhere. */
  log?: LogStream | false
}

export interface SettlementServer {
  http: FastifyInstance
  settled: Settled
  /** Lets requests finish, and settlements whose callers have gone. */
  close(): Promise<void>
}

/** The longest body. */
const MAX_BODY_BYTES = 1024 * 1024

/**
 * Makes the server, ready to listen.
 * @throws {StartProblem} when the database cannot be opened.
 */
export async function createSettlementServer(options: SettlementServerOptions): Promise<SettlementServer> {
  const { config, clock = systemClock, database, log } = options
  const { epochs = wallClockEpochs(() => clock.wall(), config.epochSeconds), settle = createL1(config.l1) } = options
  const { networks } = config
  const settled = new Settled(database)
  const http: FastifyInstance = fastify({
    logger: log === false ? false : loggerOptions(log),
    clientErrorHandler: answerClientError,
    frameworkErrors: answerFrameworkError,
    bodyLimit: MAX_BODY_BYTES,
    requestTimeout: 60_000,
  })
  const quota = new Quota(networks, epochs, clock)
  const settlements = new Settlements({ networks, quota, settle, settled, clock, log: http.log })
  addPlainAnswers(http)
  addCalls(
    http,
    new Map<string, Method>([
      ['sendTx', (params) => settlements.submit('sendTx', params)],
      ['sendCertificate', (params) => settlements.submit('sendCertificate', params)],
    ]),
  )
  http.addHook('onClose', async () => {
    await settlements.idle()
    settled.close()
  })
  await http.ready()
  return { http, settled, close: () => http.close() }
}

/** `POST /`, in JSON-RPC. */
function addCalls(app: FastifyInstance, methods: ReadonlyMap<string, Method>): void {
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
    scope.route({
      method: 'POST',
      url: '/',
      errorHandler(error: FastifyError, request, reply) {
        const status = error.statusCode ?? 500
        if (status >= 500) request.log.error({ err: error }, 'request failed')
        const { code, message, why } = STATUSES[status] ?? INVALID
        reply
          .code(status)
          .type('application/json; charset=utf-8')
          .send(refusal(code, message, why).body)
      },
      async handler(request, reply) {
        const fault = (error: unknown, method: string) => request.log.error({ err: error, method }, 'the method failed')
        const { status, body }: Answer = await answerCalls(request.body as Buffer, methods, fault)
        reply.code(status)
        return body === undefined ? reply.send() : reply.type('application/json; charset=utf-8').send(body)
      },
    })
    scope.route({
      method: ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
      url: '/',
      handler: (_request, reply) => reply.code(405).header('allow', 'POST').send({ error: 'method not allowed' }),
    })
  })
}

const INVALID: { code: number; message: string; why?: string } = { code: -32600, message: 'Invalid Request' }
const STATUSES: Record<number, typeof INVALID> = {
  413: { ...INVALID, why: `a body must have at most ${MAX_BODY_BYTES} bytes` },
  415: { ...INVALID, why: 'a body must be application/json' },
  500: { code: -32603, message: 'Internal error' },
}
