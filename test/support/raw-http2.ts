import { type ClientHttp2Session, type ClientHttp2Stream, connect, type IncomingHttpHeaders } from 'node:http2'
import type { Teardown } from './matrix-app.ts'

/** A response as it came over HTTP/2, undecoded. */
export interface RawResponse {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly trailers: IncomingHttpHeaders
  readonly body: Buffer
  /** Whether the first HEADERS frame ended the response, as gRPC's trailers-only form must. */
  readonly headersOnly: boolean
  /** The code with which the stream was closed. */
  readonly rstCode: number
}

/** A session of HTTP/2 without TLS, closed at the end of the test. */
export const openSession = (t: Teardown, url: string): ClientHttp2Session => {
  const session = connect(url)
  // A session that is cut off says so on its streams too.
  session.on('error', () => {})
  t.teardown(() => session.destroy())
  return session
}

/** Sends a request; what is left of it, such as its body, is for the caller to send. */
export const request = (
  session: ClientHttp2Session,
  path: string,
  headers: Record<string, string>,
  options?: { endStream: boolean },
): ClientHttp2Stream => session.request({ ':method': 'POST', ':path': path, ...headers }, options)

/** Waits for the whole response and for the end of the stream. */
export const responseTo = (stream: ClientHttp2Stream): Promise<RawResponse> =>
  new Promise((resolve, reject) => {
    let headers: IncomingHttpHeaders = {}
    let trailers: IncomingHttpHeaders = {}
    let headersOnly = false
    const chunks: Buffer[] = []
    stream
      .on('response', (received, flags) => {
        headers = received
        headersOnly = (flags & 1) === 1
      })
      .on('trailers', (received) => {
        trailers = received
      })
      .on('data', (chunk: Buffer) => chunks.push(chunk))
      .on('error', reject)
      .on('close', () => {
        const status = Number(headers[':status'] ?? 0)
        if (status === 0) return reject(new Error(`no response; the stream was closed with code ${stream.rstCode}`))
        const body = Buffer.concat(chunks)
        resolve({ status, headers, trailers, body, headersOnly, rstCode: stream.rstCode ?? 0 })
      })
  })

/** Sends a request with its body, and waits for the response. */
export const send = (
  session: ClientHttp2Session,
  path: string,
  headers: Record<string, string>,
  body?: Uint8Array | string,
): Promise<RawResponse> => {
  const stream = request(session, path, headers, { endStream: body === undefined })
  if (body !== undefined) stream.end(body)
  return responseTo(stream)
}
