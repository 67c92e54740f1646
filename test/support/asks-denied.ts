import { listeningMatrixApp, matrixApp, pathOf, type Teardown } from './matrix-app.ts'
import { openSession, send } from './raw-http2.ts'

/** Such that every request of `deniedCaller` is denied 1500 ms. */
const limits = { request: '2/3' }
export const deniedCaller = { type: 'api_key', name: 'sk-caller-of-the-wire-tests' } as const
const headers = { 'x-caller': deniedCaller.name }

export type Raw = {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly trailers: Readonly<Record<string, unknown>>
  readonly body: Buffer
}

export interface RequestOf {
  readonly method?: 'GET' | 'POST' | 'PUT'
  readonly path?: string
  readonly type?: string
  readonly body?: Buffer | string
}

/** Sends a request that is denied: without a socket over HTTP/1.1, and over a real one over HTTP/2. */
export type Ask = (request: RequestOf) => Promise<Raw>

/** By version of HTTP: a way to ask an app whose answer is always a rejection. */
export const asksDenied = async (test: Teardown): Promise<[string, Ask][]> => {
  const http1 = await matrixApp(test, { limits })
  const http2 = await listeningMatrixApp(test, { http2: true, limits })
  for (const { limiter } of [http1, http2]) limiter.spend(deniedCaller, 'request', 2)
  const session = openSession(test, http2.url)

  return [
    [
      'HTTP/1.1',
      async ({ method = 'POST', path = pathOf('Unary'), type, body = '' }) => {
        const sent = { ...headers, ...(type !== undefined && { 'content-type': type }) }
        const answer = await http1.app.inject({ method, url: path, headers: sent, payload: body })
        const { statusCode: status, rawPayload, trailers } = answer
        return { status, headers: answer.headers, trailers, body: rawPayload }
      },
    ],
    [
      'HTTP/2',
      ({ method = 'POST', path = pathOf('Unary'), type, body }) =>
        send(
          session,
          path,
          { ':method': method, ...headers, ...(type !== undefined && { 'content-type': type }) },
          body,
        ),
    ],
  ]
}
