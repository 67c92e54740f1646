// Servers in a process of their own: Fastify and Connect, with the plugin, a peer, or neither.
import { fastifyConnectPlugin } from '@connectrpc/connect-fastify'
import rateLimit from '@fastify/rate-limit'
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import allowance from '../../src/index.ts'
import { MatrixService } from '../../test/gen/test/v1/matrix_pb.ts'
import { hour, minute } from '../functions/limits.ts'
import { answer } from '../processes/answer.ts'
import { processUs } from '../processes/cpu.ts'
import { CALLER_HEADER, DENIED_CALLER } from './callers.ts'

export interface ServerSetup {
  readonly limiter: 'none' | 'fastify-allowance' | '@fastify/rate-limit'
  readonly http2: boolean
  /** Whether callers are told apart by the header, instead of by address. */
  readonly byHeader?: boolean
}

/** What a server says of itself. */
export interface ServerState {
  readonly port: number
  /** Processor time of its process, µs. */
  readonly cpuUs: number
  /** RPCs whose handlers have run. */
  readonly handled: number
  /** RPCs that were denied, as far as it is fastify-allowance that did. */
  readonly denied: number
}

const many = [minute, hour]

answer(async (setups: readonly ServerSetup[]) => {
  const servers: (() => ServerState)[] = []
  for (const setup of setups) servers.push(await start(setup))

  /** What the server of this number says. */
  return (index: number): ServerState => servers[index]!()
})

async function start({ limiter, http2, byHeader = false }: ServerSetup): Promise<() => ServerState> {
  let handled = 0
  let denied = 0
  const app = Fastify({ http2 } as FastifyServerOptions) as FastifyInstance
  const routes: Parameters<typeof fastifyConnectPlugin>[1]['routes'] = (router) =>
    router.service(MatrixService, {
      undeclared() {
        handled += 1
        return { text: 'done' }
      },
      async *serverStream() {
        handled += 1
        yield { text: 'done' }
      },
    })
  if (limiter === 'fastify-allowance') {
    await app.register(allowance, {
      domain: 'example.com',
      rateLimits: {
        categories: { request: { default: many }, work: { default: many }, step: { default: many } },
        overrides: [{ caller: DENIED_CALLER, categories: { request: [{ count: 1, windowSeconds: 8_640_000 }] } }],
      },
      ...(byHeader && {
        identify({ headers }) {
          const name = headers[CALLER_HEADER]
          return typeof name === 'string' ? { type: 'api_key', name } : undefined
        },
      }),
      onDenied() {
        denied += 1
      },
    })
    app.allowance.limiter.spend(DENIED_CALLER, 'request', 1)
    await app.register(fastifyConnectPlugin, app.allowance.connect({ routes }))
  } else {
    if (limiter === '@fastify/rate-limit') {
      await app.register(rateLimit, { max: minute.count, timeWindow: minute.windowSeconds * 1000 })
    }
    await app.register(fastifyConnectPlugin, { routes })
  }
  const port = Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port)
  return () => ({ port, cpuUs: processUs(), handled, denied })
}
