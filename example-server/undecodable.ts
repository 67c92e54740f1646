import { createContextKey, createContextValues, type Interceptor } from '@connectrpc/connect'
import { createAsyncIterable, type UniversalHandler } from '@connectrpc/connect/protocol'

const decodedKey = createContextKey(false)

/** Notes that the message of a request was decoded. To be the first of the server's interceptors. */
export const noteDecoded: Interceptor = (next) => (request) => {
  request.contextValues.set(decodedKey, true)
  return next(request)
}

/**
 * Answers 400 where Connect answers 500 to a request whose message it cannot decode: protobuf that is cut off, base64
 * that is none. Nothing has run then, so that it cannot be the server's fault. (gRPC says `internal` there, in a 200.)
 */
export function blameTheRequest(handler: UniversalHandler): UniversalHandler {
  const handle: typeof handler = Object.assign(async (request: Parameters<UniversalHandler>[0]) => {
    const contextValues = request.contextValues ?? createContextValues()
    const response = await handler({ ...request, contextValues })
    if (response.status !== 500 || contextValues.get(decodedKey)) return response
    const header = new Headers(response.header)
    header.delete('content-length')
    header.delete('content-encoding')
    return { ...response, status: 400, header, body: createAsyncIterable([UNDECODABLE]) }
  }, handler)
  return handle
}

const UNDECODABLE = new TextEncoder().encode(
  JSON.stringify({ code: 'invalid_argument', message: 'the message of the request cannot be decoded' }),
)
