import type { ConnectError } from '@connectrpc/connect'
import { codeToHttpStatus } from '@connectrpc/connect/protocol-connect'
import { sendable } from './sendable.ts'

/**
 * Gives an error the properties by which Fastify's default error handler answers it in a plain HTTP route: the status of
 * its code, and its metadata as headers (429 and Retry-After for a denial). In an RPC they mean nothing.
 */
export function asHttpError<T extends ConnectError>(error: T): T & { statusCode: number; headers: object } {
  return Object.assign(error, {
    statusCode: codeToHttpStatus(error.code),
    headers: Object.fromEntries(sendable(error).metadata),
  })
}
