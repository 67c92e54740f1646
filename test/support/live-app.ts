import { createClient, type ServiceImpl, type Transport } from '@connectrpc/connect'
import { fastifyConnectPlugin } from '@connectrpc/connect-fastify'
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node'
import allowance, { type AllowanceOptions, type ManualClock, manualClock } from '../../src/index.ts'
import { LiveService } from '../gen/test/v1/live_pb.ts'
import { apiKey } from './limiter-of.ts'
import { callerHeader, createFastify, domain, rateLimits, type Teardown } from './matrix-app.ts'

export const limits = { stream_rent: '120/60', request: '60/60' } as const
export const caller = apiKey('one caller')
export const headers = { 'x-caller': caller.name }

export interface LiveAppOptions {
  readonly http2?: boolean
  readonly limits?: Record<string, string>
  readonly allowance?: Partial<AllowanceOptions>
}

/** A listening app whose streams are the handlers given; the others are not implemented. Its time stands still. */
export const liveApp = async (
  t: Teardown,
  handlers: Partial<ServiceImpl<typeof LiveService>>,
  options: LiveAppOptions = {},
) => {
  const clock: ManualClock = manualClock()
  const app = createFastify(options.http2 ?? false)
  t.teardown(() => app.close())
  await app.register(allowance, {
    domain,
    identify: callerHeader,
    clock,
    rateLimits: rateLimits({ ...limits, ...options.limits }),
    ...options.allowance,
  })
  await app.register(
    fastifyConnectPlugin,
    app.allowance.connect({ routes: (router) => router.service(LiveService, handlers) }),
  )
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const { limiter } = app.allowance
  return {
    app,
    clock,
    url,
    port: Number(new URL(url).port),
    limiter,
    advance: (seconds: number) => clock.advance(BigInt(Math.round(seconds * 1000)) * 1_000_000n),
    left: (category: keyof typeof limits) => limiter.remaining(caller, category)[0]!.units,
    spend: (category: keyof typeof limits, units: number) => limiter.spend(caller, category, units),
  }
}

/** A client of the service for each protocol that can be spoken over HTTP/1.1, or HTTP/2. */
export const liveClients = (baseUrl: string, http2: boolean) => {
  const options = { baseUrl, httpVersion: http2 ? '2' : '1.1' } as const
  const transports: [string, Transport][] = [
    ['Connect', createConnectTransport(options)],
    ['Connect JSON', createConnectTransport({ ...options, useBinaryFormat: false })],
    ['gRPC-Web', createGrpcWebTransport(options)],
    ...(http2 ? [['gRPC', createGrpcTransport(options)] satisfies [string, Transport]] : []),
  ]
  return transports.map(([name, transport]) => ({
    name: `${name} over HTTP/${options.httpVersion}`,
    client: createClient(LiveService, transport),
  }))
}

/** Resolves when `open` is called. */
export const gate = () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { passed: promise, open: () => resolve() }
}

/** Resolves when `holds`, which time does not have to make true: it is looked at after each turn of the event loop. */
export const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await new Promise(setImmediate)
}
