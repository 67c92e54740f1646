import type { DescMethod, DescService } from '@bufbuild/protobuf'
import {
  type ConnectRouter,
  type ConnectRouterOptions,
  createServiceImplSpec,
  type Interceptor,
} from '@connectrpc/connect'
import { rpcName } from '../charge/rpc-plan.ts'
import { chargeInterceptor } from './charge-interceptor.ts'
import { hasFurtherCharges, type RpcCharging } from './rpc-charges.ts'
import { streamInterceptor } from './stream-interceptor.ts'

/** One RPC as it was registered. */
export interface WiredRpc extends RpcCharging {
  /** The path that the router gives it, without the prefix of the Fastify scope: `/backend.v1.Backend/Publish`. */
  readonly requestPath: string
  /** Whether there is something to run. A method that its service declares and nobody implemented costs nothing. */
  readonly implemented: boolean
}

/**
 * Registers `routes` on a router so that each RPC pays its charges, whichever interceptors the router, its service or
 * its method bring: options given to `service()` or `rpc()` replace the router's, so the charges are wired in there.
 * They come first, before any other interceptor, and only where there is something for them to do: each costs every call of an RPC.
 * @returns every RPC that `routes` registered.
 * @throws Error naming every RPC whose charges are wrong, a line each; Error naming the RPC for one that was put on the router past these two.
 */
export function wireRoutes(
  router: ConnectRouter,
  routes: (router: ConnectRouter) => unknown,
  routerOptions: ConnectRouterOptions,
  chargingOf: (method: DescMethod) => RpcCharging,
): WiredRpc[] {
  const chargings = new Map<DescMethod, RpcCharging>()
  const implemented = new Set<DescMethod>()
  const charge = chargeInterceptor((method) => (implemented.has(method) ? chargings.get(method) : undefined))

  const problems: string[] = []
  const plan = (method: DescMethod, hasHandler: boolean) => {
    try {
      chargings.set(method, chargings.get(method) ?? chargingOf(method))
    } catch (error) {
      problems.push((error as Error).message)
    }
    if (hasHandler) implemented.add(method)
  }
  const ours = (method: DescMethod): Interceptor[] => {
    const charging = implemented.has(method) ? chargings.get(method) : undefined
    return [
      ...(method.methodKind === 'unary' ? [] : [streamInterceptor]),
      ...(charging === undefined || hasFurtherCharges(charging) ? [charge] : []),
    ]
  }
  // The router takes its own protocols for a service without options only, and such a service has options now.
  const withCharges = (method: DescMethod, options: Partial<ConnectRouterOptions> = protocolsOf(routerOptions)) => ({
    ...options,
    interceptors: [...ours(method), ...(options.interceptors ?? routerOptions.interceptors ?? [])],
  })

  const wired = {
    handlers: router.handlers,
    service(service: DescService, implementation: Record<string, unknown>, options?: Partial<ConnectRouterOptions>) {
      for (const method of service.methods) plan(method, typeof implementation[method.localName] === 'function')
      for (const { method, impl } of Object.values(createServiceImplSpec(service, implementation as never).methods)) {
        router.rpc(method, impl as never, withCharges(method, options))
      }
      return wired
    },
    rpc(method: DescMethod, implementation: never, options?: Partial<ConnectRouterOptions>) {
      plan(method, true)
      router.rpc(method, implementation, withCharges(method, options))
      return wired
    },
  }
  routes(wired as unknown as ConnectRouter)

  if (problems.length > 0) throw new Error(problems.join('\n'))
  return router.handlers.map(({ method, requestPath }) => {
    const charging = chargings.get(method)
    if (charging === undefined) {
      throw new Error(`${rpcName(method)} cannot be charged: register it by the router's service() or rpc()`)
    }
    return { ...charging, requestPath, implemented: implemented.has(method) }
  })
}

function protocolsOf({ connect, grpc, grpcWeb }: ConnectRouterOptions): Partial<ConnectRouterOptions> {
  return {
    ...(connect !== undefined && { connect }),
    ...(grpc !== undefined && { grpc }),
    ...(grpcWeb !== undefined && { grpcWeb }),
  }
}
