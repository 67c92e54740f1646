import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import replyFrom, { type FastifyReplyFromOptions } from '@fastify/reply-from'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { sendProblem } from './answers.ts'
import { withoutSession } from './identify.ts'
import type { Target } from './route-table.ts'

type Headers = Record<string, string | string[] | undefined>

/** What is said of one connection only (RFC 9110, section 7.6.1), beside what `Connection` lists. */
const HOP_BY_HOP = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
/** Node has answered the first; the second is for the gateway. */
const OWN = new Set(['expect', 'x-api-key'])
/** Sends a request on to the upstream of its route, streams its body there and the answer back. */
export type Forward = (target: Target, request: FastifyRequest, reply: FastifyReply) => FastifyReply

/** Brings in the proxy. */
export async function addForwarding(app: FastifyInstance): Promise<Forward> {
  await app.register(replyFrom, {
    // Unless it is told so, it takes any certificate.
    undici: { tls: { rejectUnauthorized: true } } as NonNullable<FastifyReplyFromOptions['undici']>,
    destroyAgent: true,
    disableRequestLogging: true,
  })
  // Who forwarded a request, in `Via`: one that comes back has gone round in a circle.
  const pseudonym = `gateway-${randomUUID()}`
  return ({ route: { upstream, timeoutMs }, rest }, request, reply) => {
    if (request.headers.via?.includes(pseudonym)) return sendProblem(request, reply, 508)
    const base = upstream.pathname.endsWith('/') ? upstream.pathname.slice(0, -1) : upstream.pathname
    return reply.from(base + rest || '/', {
      getUpstream: () => `${upstream.origin}/`,
      timeout: timeoutMs,
      // Whether to try again is the client's to say.
      retryDelay: () => null,
      rewriteRequestHeaders: (_request, headers) => requestHeaders(request, headers as Headers, pseudonym),
      rewriteHeaders: (headers) => responseHeaders(headers as Headers, pseudonym),
      onError: (_reply, { error }) => void sendProblem(request, reply, isTimeout(error) ? 504 : 502),
    })
  }
}

function requestHeaders(request: FastifyRequest, headers: Headers, pseudonym: string): IncomingHttpHeaders {
  const kept = withoutHops(headers)
  for (const name of OWN) delete kept[name]
  // What is not sent on has no length: GET and HEAD.
  if (request.body === undefined) delete kept['content-length']
  const cookie = typeof kept.cookie === 'string' ? withoutSession(kept.cookie) : undefined
  if (cookie === undefined) delete kept.cookie
  else kept.cookie = cookie
  kept['x-forwarded-for'] = append(kept['x-forwarded-for'], request.raw.socket.remoteAddress ?? 'unknown')
  kept['x-forwarded-proto'] = 'http'
  if (request.headers.host !== undefined) kept['x-forwarded-host'] = request.headers.host
  kept.via = append(kept.via, `${request.raw.httpVersion} ${pseudonym}`)
  return kept as IncomingHttpHeaders
}

function responseHeaders(headers: Headers, pseudonym: string): IncomingHttpHeaders {
  const kept = withoutHops(headers)
  return { ...kept, via: append(kept.via, `1.1 ${pseudonym}`) } as IncomingHttpHeaders
}

/** Without what is said of one connection only. */
function withoutHops(headers: Headers): Headers {
  const listed = String(headers.connection ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name) && !listed.includes(name)))
}

function append(value: string | string[] | undefined, last: string): string {
  return value === undefined ? last : `${value}, ${last}`
}

function isTimeout(error: Error & { code?: string; statusCode?: number; cause?: unknown }): boolean {
  return error.statusCode === 504 || error.code === 'UND_ERR_CONNECT_TIMEOUT'
}
