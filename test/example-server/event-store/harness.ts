import { once } from 'node:events'
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Readable } from 'node:stream'
import { createEventStoreServer, type EventStoreOptions } from '../../../example-server/event-store/server.ts'
import { type ManualClock, manualClock } from '../../../src/index.ts'

export const TOKEN = 'token-of-the-tests'
export const SECOND = 1_000_000_000n

export interface Answer {
  status: number
  headers: IncomingHttpHeaders
  body: string
}

export interface Ask {
  method?: string
  /** JSON, or text as it is. */
  body?: unknown
  headers?: Record<string, string>
  /** Default: the right one; null: none. */
  token?: string | null
  /** The address of this machine to call from. */
  from?: string
}

interface Teardown {
  teardown(run: () => unknown): unknown
}

/** A server on the loopback, whose time stands still unless `clock` is moved, with the lines that it logs. */
export async function start(t: Teardown, options: Partial<EventStoreOptions> = {}) {
  const clock = manualClock(0n)
  const logged: string[] = []
  const server = await createEventStoreServer({
    cpus: 2,
    apiToken: TOKEN,
    clock,
    log: { write: (line) => logged.push(line) },
    ...options,
  })
  await server.app.listen({ host: '127.0.0.1', port: 0, listenTextResolver: () => 'listening' })
  t.teardown(() => server.close())
  const { port } = server.app.server.address() as AddressInfo
  /** Opens a response, without reading it. */
  const open = async (path: string, ask: Ask = {}) => {
    const { body, token = TOKEN, from } = ask
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
    const outgoing = request({
      host: '127.0.0.1',
      port,
      path,
      method:
        ask.method ?? (path.startsWith('/api/') && !/ping|health|diagnostics|openapi/.test(path) ? 'POST' : 'GET'),
      agent: false,
      ...(from !== undefined && { localAddress: from }),
      headers: {
        ...(token !== null && { authorization: `Bearer ${token}` }),
        ...(text !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
        ...ask.headers,
      },
    })
    outgoing.end(text)
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
    incoming.on('error', () => {})
    return incoming
  }
  const call = async (path: string, ask: Ask = {}): Promise<Answer> => {
    const incoming = await open(path, ask)
    return { status: incoming.statusCode!, headers: incoming.headers, body: await textOf(incoming) }
  }
  return { ...server, clock: clock as ManualClock, logged, port, open, call }
}

export type TestServer = Awaited<ReturnType<typeof start>>

export async function textOf(stream: Readable): Promise<string> {
  let text = ''
  for await (const chunk of stream.setEncoding('utf8')) text += chunk
  return text
}

/** The JSON of each line. */
// biome-ignore lint/suspicious/noExplicitAny: tests say what they look for
export function lines(body: string): any[] {
  return body
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}

export function candidate(subject = '/books/42', data: Record<string, unknown> = { title: '2001' }) {
  return { source: 'urn:test', subject, type: 'com.example.book-acquired', data }
}

export function write(server: TestServer, ...subjects: string[]): Promise<Answer> {
  return server.call('/api/v1/write-events', { body: { events: subjects.map((subject) => candidate(subject)) } })
}

/** Reads lines of an open response, as they come. */
export function lineReader(incoming: IncomingMessage) {
  let text = ''
  let look = () => {}
  let ended = false
  incoming.setEncoding('utf8')
  incoming.on('data', (chunk: string) => {
    text += chunk
    look()
  })
  const end = () => {
    ended = true
    look()
  }
  incoming.on('end', end).on('close', end)
  return {
    // biome-ignore lint/suspicious/noExplicitAny: tests say what they look for
    next: (): Promise<any> =>
      new Promise((resolve) => {
        look = () => {
          const at = text.indexOf('\n')
          if (at === -1 && !ended) return
          look = () => {}
          if (at === -1) return resolve(undefined)
          const line = text.slice(0, at)
          text = text.slice(at + 1)
          resolve(JSON.parse(line))
        }
        look()
      }),
  }
}

/** Waits until something holds that the server does in its own time. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let i = 0; !(await holds()); i++) {
    if (i === 2000) throw new Error('it did not come to hold')
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
