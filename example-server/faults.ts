import { Code, ConnectError, type Interceptor } from '@connectrpc/connect'
import type { FastifyBaseLogger } from 'fastify'

/** Logs what a handler did not mean to throw, such as an error of the database; the client reads `internal` and no more. */
export function reportFaults(log: FastifyBaseLogger): Interceptor {
  return (next) => async (request) => {
    const toClient = (error: unknown): unknown => {
      // One that the request was ended with is no fault of the handler.
      if (error instanceof ConnectError || request.signal.aborted) return error
      log.error({ err: error, rpc: `${request.service.typeName}/${request.method.name}` }, 'the handler failed')
      return new ConnectError('internal error', Code.Internal)
    }
    try {
      const response = await next(request)
      return response.stream ? { ...response, message: watched(response.message, toClient) } : response
    } catch (error) {
      throw toClient(error)
    }
  }
}

async function* watched<T>(messages: AsyncIterable<T>, toClient: (error: unknown) => unknown): AsyncGenerator<T> {
  try {
    yield* messages
  } catch (error) {
    throw toClient(error)
  }
}
