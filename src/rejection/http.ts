import type { ConnectError } from '@connectrpc/connect'
import { codeToHttpStatus, codeToString } from '@connectrpc/connect/protocol-connect'
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

/**
 * What a plain HTTP route makes of an error. Of a ConnectError Fastify would show the number of its code, which means nothing
 * there: instead of it an Error of the same message, status and headers, with the code's name, and the ConnectError as its cause.
 */
export function asPlainError(error: ConnectError): Error & { code: string; statusCode: number; headers: object } {
  const { statusCode, headers } = asHttpError(error)
  const code = codeToString(error.code)
  return Object.assign(new Error(error.rawMessage, { cause: error }), { code, statusCode, headers })
}
