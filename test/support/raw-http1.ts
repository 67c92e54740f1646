import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Teardown } from './matrix-app.ts'

/** A response as it came over HTTP/1.1. */
export interface Http1Response {
  readonly status: number
  /** Names in lower case; of several lines the last. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A connection on which a test writes what it likes. */
export interface RawSocket {
  readonly socket: Socket
  write(data: string | Uint8Array): void
  /** The next response, `100 Continue` among them. Fails when the server closes before it is whole. */
  response(): Promise<Http1Response>
  /** Resolves when the server has closed the connection. */
  readonly closed: Promise<unknown>
}

/** The head of a request by POST, with a line of its own for each header. */
export const headOf = (path: string, headers: readonly (readonly [name: string, value: string | number])[]): string =>
  [`POST ${path} HTTP/1.1`, 'host: localhost', ...headers.map(([name, value]) => `${name}: ${value}`), '', ''].join(
    '\r\n',
  )

export const openSocket = async (t: Teardown, port: number): Promise<RawSocket> => {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  t.teardown(() => socket.destroy())
  let received = ''
  let look = () => {}
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1')
    look()
  })
  // A server that closes while its client still writes resets the connection.
  socket.on('error', () => {})
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.on('end', () => socket.end())
  await once(socket, 'connect')

  const response = () =>
    new Promise<Http1Response>((resolve, reject) => {
      look = () => {
        const found = parse(received)
        if (found === undefined) return
        look = () => {}
        received = received.slice(found.length)
        resolve(found.response)
      }
      closed.then(() => reject(new Error(`closed, after ${JSON.stringify(received)}`)))
      look()
    })
  return { socket, write: (data) => void socket.write(data), response, closed }
}

const parse = (text: string): { response: Http1Response; length: number } | undefined => {
  const end = text.indexOf('\r\n\r\n') + 4
  if (end === 3) return undefined
  const [statusLine, ...lines] = text.slice(0, end - 4).split('\r\n')
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    }),
  )
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(statusLine!)?.[1])
  const rest = headers['transfer-encoding'] === 'chunked' ? unchunked(text, end) : plain(text, end, headers)
  return rest && { response: { status, headers, body: rest.body }, length: rest.end }
}

const plain = (text: string, start: number, headers: Record<string, string>) => {
  const end = start + Number(headers['content-length'] ?? 0)
  return end > text.length ? undefined : { body: text.slice(start, end), end }
}

const unchunked = (text: string, start: number) => {
  let body = ''
  for (let at = start; ; ) {
    const line = text.indexOf('\r\n', at)
    if (line === -1) return undefined
    const size = Number.parseInt(text.slice(at, line), 16)
    const next = line + 2 + size + 2
    if (text.length < next) return undefined
    if (size === 0) return { body, end: next }
    body += text.slice(line + 2, line + 2 + size)
    at = next
  }
}

/** Sends no more, and waits until the server has closed the connection: the message that says what came meanwhile. */
export const closeOf = async ({ response, socket, closed }: RawSocket): Promise<string> => {
  const none = response().then(
    () => 'another answer',
    ({ message }: Error) => message,
  )
  socket.end()
  await closed
  return none
}
