import { create, toBinary } from '@bufbuild/protobuf'
import {
  Code,
  ConnectError,
  createClient,
  createRouterTransport,
  type HandlerContext,
  type Interceptor,
} from '@connectrpc/connect'
import { ErrorInfoSchema, RetryInfoSchema } from '../../src/gen/google/rpc/error_details_pb.ts'
import { type MatrixRequest, MatrixService } from '../gen/test/v1/matrix_pb.ts'

export const domain = 'xmtp.org'

type Detail = Extract<ConnectError['details'][number], { desc: unknown }>
type WireDetail = Exclude<ConnectError['details'][number], Detail>

export const errorInfo = (changed: { reason?: string; domain?: string; category?: string } = {}): Detail => ({
  desc: ErrorInfoSchema,
  value: {
    reason: changed.reason ?? 'RATE_LIMITED',
    domain: changed.domain ?? domain,
    metadata: { category: changed.category ?? 'request' },
  },
})

export const retryInfo = (ms: number): Detail => {
  const whole = Math.trunc(ms / 1000)
  return {
    desc: RetryInfoSchema,
    value: { retryDelay: { seconds: BigInt(whole), nanos: Math.round((ms - whole * 1000) * 1e6) } },
  }
}

/** A detail of the type of `detail` whose bytes cannot be decoded. */
export const broken = ({ desc }: Detail): WireDetail => ({ type: desc.typeName, value: new Uint8Array([0x0a, 0xff]) })

/** As a detail looks when it came over the wire. */
export const asWire = ({ desc, value }: Detail): WireDetail => ({
  type: desc.typeName,
  value: toBinary(desc, create(desc, value)),
})

export const errorWith = (...details: (Detail | WireDetail)[]): ConnectError => {
  const error = new ConnectError('slow down', Code.ResourceExhausted)
  error.details = details
  return error
}

/** What a server says that denied a spend. */
export const rejection = (ms: number, category = 'request') => errorWith(errorInfo({ category }), retryInfo(ms))

export interface Seen {
  readonly message: MatrixRequest
  readonly header: Headers
  readonly timeoutMs: number | undefined
}

/** What a handler does: throws an error, or delivers texts and then throws. Anything that is left over: succeeds. */
export type Step = ConnectError | readonly (string | ConnectError)[]

/** A server in memory whose unary and server-streaming calls go by a script, and a client that has `interceptors`. */
export function scriptedServer(script: Step[], interceptors: Interceptor[] = []) {
  const seen: Seen[] = []
  const left = [...script]
  const step = (message: MatrixRequest, context: HandlerContext) => {
    seen.push({ message, header: context.requestHeader, timeoutMs: context.timeoutMs() })
    const next = left.shift() ?? []
    return next instanceof ConnectError ? [next] : next
  }
  const transport = createRouterTransport(
    (router) =>
      router.service(MatrixService, {
        unary(message, context) {
          for (const what of step(message, context)) if (what instanceof ConnectError) throw what
          return { text: `call ${seen.length}` }
        },
        undeclared(message, context) {
          for (const what of step(message, context)) if (what instanceof ConnectError) throw what
          return { text: `call ${seen.length}` }
        },
        async *serverStream(message, context) {
          for (const what of step(message, context)) {
            if (what instanceof ConnectError) throw what
            yield { text: what }
          }
        },
      }),
    { transport: { interceptors } },
  )
  return { client: createClient(MatrixService, transport), seen }
}

/** What a promise came to. */
export const outcome = async (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error)
