import { Code, ConnectError, type Interceptor } from '@connectrpc/connect'
import type { FastifyBaseLogger } from 'fastify'

/** Logs what a handler did not mean to throw, such as an error of the database; the client reads `internal` and no more. */
export function reportFaults(log: FastifyBaseLogger): Interceptor {
  return (next) => async (request) => {
    try {
      return await next(request)
    } catch (error) {
      if (error instanceof ConnectError) throw error
      log.error({ err: error, rpc: `${request.service.typeName}/${request.method.name}` }, 'the handler failed')
      throw new ConnectError('internal error', Code.Internal)
    }
  }
}
