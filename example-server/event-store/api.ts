import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../src/index.ts'
import type { LimitsConfig } from './limits.ts'
import { line, type OpenStreams } from './ndjson.ts'
import type { Observers } from './observers.ts'
import type { EventStore } from './store.ts'

export const VERSIONS = ['v1', 'v2'] as const
export type Version = (typeof VERSIONS)[number]

/** What the routes work on. */
export interface Services {
  store: EventStore
  observers: Observers
  streams: OpenStreams
  clock: Clock
  limits: LimitsConfig
}

/** A route of the API, at `/api/v1/…` and `/api/v2/…`. */
export interface ApiRoute {
  name: string
  method: 'GET' | 'POST'
  /** For the OpenAPI definition. */
  summary: string
  /** Needs no API token. */
  open?: true
  /** Exempt from the global limits. */
  probe?: true
  /** Costs several units. */
  writes?: true
  /** Streams its results: each open one is one of the client's. */
  streams?: true
  /** Takes a body that is read by the handler, and may be long. */
  uploads?: true
  handle(request: FastifyRequest, reply: FastifyReply, version: Version): unknown
}

/**
 * Answers a command: in v1 with one JSON value, in v2 with a stream, which has ended before it began. It is no stream of
 * results, and none that counts.
 */
export function answerCommand(
  reply: FastifyReply,
  version: Version,
  v1: unknown,
  v2: readonly { type: string; payload: unknown }[],
): FastifyReply {
  if (version === 'v1') return reply.send(v1)
  return reply
    .type('application/x-ndjson')
    .send(Buffer.from(v2.map(({ type, payload }) => line(type, payload)).join('')))
}

/** What v1 answers where there is nothing else to say. */
export function managementEvent(services: { clock: Clock }, name: string, subject: string, data: unknown) {
  return {
    specversion: '1.0',
    id: '',
    time: new Date(services.clock.wall()).toISOString(),
    source: 'urn:example:event-store',
    subject,
    type: `io.eventsourcingdb.api.${name}`,
    datacontenttype: 'application/json',
    data,
  }
}
