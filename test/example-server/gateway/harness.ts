import { once } from 'node:events'
import {
  Agent,
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { parseConfig } from '../../../example-server/gateway/config.ts'
import { createGatewayServer } from '../../../example-server/gateway/server.ts'
import { manualClock } from '../../../src/index.ts'

export interface Teardown {
  teardown(run: () => unknown): unknown
}

export const ADMIN = 'the-token-of-the-admin'
/** OpenAPI files named in a test's configuration are in the folder of the example. */
export const FOLDER = join(import.meta.dirname, '../../../example-server/gateway')

/** Users: two partners of one organisation, one of whom has two tokens, and one on trial of another. */
export const USERS = `
[[users]]
name = "petra"
organisation = "acme"
roles = ["partner"]
sessions = ["session-of-petra"]
tokens = { petra-1 = "token-of-petra-1", petra-2 = "token-of-petra-2" }
[[users]]
name = "paul"
organisation = "acme"
roles = ["partner"]
sessions = ["session-of-paul-1"]
tokens = { paul-1 = "token-of-paul-001" }
[[users]]
name = "tom"
organisation = "tinkers"
roles = ["trial"]
tokens = { tom-1 = "token-of-tom-0001" }
`
export const petra = { 'x-api-key': 'token-of-petra-1' }
export const petra2 = { 'x-api-key': 'token-of-petra-2' }
export const petraInBrowser = { cookie: 'session=session-of-petra' }
export const paul = { 'x-api-key': 'token-of-paul-001' }
export const tom = { 'x-api-key': 'token-of-tom-0001' }

/** A request as it reached the upstream. */
export interface Reached {
  method: string
  url: string
  headers: IncomingHttpHeaders
  body: string
}

/** An upstream that notes what reaches it, and answers 200 with `ok`, or as it is told. */
export async function startUpstream(
  t: Teardown,
  answer?: (request: IncomingMessage, response: ServerResponse) => void,
) {
  const reached: Reached[] = []
  let dialled = 0
  const server = createServer(async (request, response) => {
    if (answer) return answer(request, response)
    const { method, url, headers } = request
    try {
      const body = Buffer.concat(await request.toArray()).toString()
      reached.push({ method: method!, url: url!, headers, body })
      response.end('ok')
    } catch {
      // Its client has left.
    }
  })
  server.on('connection', () => {
    dialled += 1
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, port, reached, dialled: () => dialled, server }
}

export interface StartOptions {
  /** TOML before the routes. */
  head?: string
  /** TOML of the routes; UPSTREAM stands for the upstream's URL. */
  routes: string
  answer?: (request: IncomingMessage, response: ServerResponse) => void
}

/** One route `/x` to the upstream with such rules. */
export const route = (rules: string, more = ''): string =>
  `[[routes]]\nname = "x"\nprefix = "/x"\nupstream = "UPSTREAM"\nrules = [${rules}]\n${more}`

/** A gateway on the loopback, whose time stands still unless `clock` is moved, with an upstream. */
export async function start(t: Teardown, { head = '', routes, answer }: StartOptions) {
  const upstream = await startUpstream(t, answer)
  const text = `admin_token = "${ADMIN}"\n${head}\n${routes.replaceAll('UPSTREAM', upstream.url)}\n${USERS}`
  const clock = manualClock(0n)
  const logged: string[] = []
  const config = parseConfig(text, join(FOLDER, 'test.toml'))
  const { app, lookUps, table } = await createGatewayServer({
    config,
    clock,
    log: { write: (line) => logged.push(line) },
  })
  await app.listen({ host: '127.0.0.1', port: 0, listenTextResolver: () => 'listening' })
  const { port } = app.server.address() as AddressInfo
  const send = client(t, port)
  t.teardown(() => app.close())
  /** Saves a route by an admin call. */
  const save = (name: string, body: unknown) =>
    send(`/-/admin/routes/${name}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${ADMIN}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const url = `http://127.0.0.1:${port}`
  const seconds = (count: number) => clock.advance(BigInt(Math.round(count * 1000)) * 1_000_000n)
  return { app, port, url, clock, seconds, upstream, lookUps, table, logged, send, save }
}

export interface SendOptions {
  method?: string
  headers?: Record<string, string>
  body?: string | Buffer
}

export interface Answer {
  status: number
  headers: IncomingHttpHeaders
  body: string
}

export type Send = (path: string, options?: SendOptions) => Promise<Answer>

/** Sends requests as they are, without making a URL of the path, on connections that are kept. */
export function client(t: Teardown, port: number, maxSockets = 50): Send {
  const agent = new Agent({ keepAlive: true, maxSockets })
  t.teardown(() => agent.destroy())
  return (path, { method = 'GET', headers = {}, body } = {}) =>
    new Promise((resolve, reject) => {
      const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
      const outgoing = request({ host: '127.0.0.1', port, path, method, agent, headers: { ...length, ...headers } })
      outgoing.on('error', reject).on('response', (response) => {
        const { statusCode, headers: fields } = response
        const received = response.toArray().then((chunks) => Buffer.concat(chunks).toString())
        received.then((text) => resolve({ status: statusCode!, headers: fields, body: text }), reject)
      })
      outgoing.end(body)
    })
}

/** The statuses of so many requests, one after the other. */
export async function statuses(count: number, run: (i: number) => Promise<Answer>): Promise<number[]> {
  const found: number[] = []
  for (let i = 0; i < count; i += 1) found.push((await run(i)).status)
  return found
}

/** So many of a status. */
export const many = (count: number, status: number): number[] => Array<number>(count).fill(status)
