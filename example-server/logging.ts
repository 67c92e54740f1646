import type { FastifyRequest, FastifyServerOptions } from 'fastify'

/** Where log lines go. Default: standard output. */
export interface LogStream {
  write(line: string): void
}

/**
 * Fastify's logger, told to keep to itself what a caller sent. A request is its method and the path of the route that it
 * reached, not the one it asked for; an error is its name, its code and where it was thrown, but not its message.
 */
export function loggerOptions(stream?: LogStream): NonNullable<FastifyServerOptions['logger']> {
  return {
    level: 'info',
    base: null,
    serializers: {
      req: (request: FastifyRequest) => ({ method: request.method, path: request.routeOptions.url ?? '(no route)' }),
      err: serializeError,
    },
    ...(stream && { stream }),
  }
}

function serializeError(error: Error & { code?: unknown }) {
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
  return {
    type: error.name,
    message: '(not logged)',
    stack: frames.join('\n'),
    ...(typeof error.code === 'string' && { code: error.code }),
  }
}
