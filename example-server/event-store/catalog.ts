import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type ApiRoute, VERSIONS, type Version } from './api.ts'
import { READ_UNITS, WRITE_UNITS } from './limits.ts'

/** Serves the OpenAPI definition of both APIs, and the catalog of them (RFC 9727). */
export function addCatalog(app: FastifyInstance, routes: readonly ApiRoute[]): void {
  const catalog = {
    linkset: VERSIONS.map((version) => ({
      anchor: `/api/${version}`,
      'service-desc': [{ href: `/api/${version}/openapi.json`, type: 'application/json' }],
      status: [{ href: `/api/${version}/health`, type: 'application/json' }],
    })),
  }
  app.get('/.well-known/api-catalog', (_request, reply) =>
    reply
      .type('application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"')
      .send(JSON.stringify(catalog)),
  )
  for (const version of VERSIONS) {
    const definition = JSON.stringify(openApi(routes, version))
    const serve = (_request: FastifyRequest, reply: FastifyReply) =>
      reply.type('application/json; charset=utf-8').send(definition)
    app.get(`/api/${version}/openapi.json`, serve)
    if (version === 'v1') app.get('/.well-known/openapi', serve)
  }
}

function openApi(routes: readonly ApiRoute[], version: Version) {
  const paths = routes.map((route) => {
    const { name, method, open, uploads, streams } = route
    const stream = streams === true || (version === 'v2' && isCommand(route))
    const operation = {
      operationId: name,
      summary: route.summary,
      description: `Costs ${route.writes ? WRITE_UNITS : READ_UNITS} of what a client may send.${streams ? ' Open streams of a client are limited.' : ''}`,
      security: open ? [] : [{ token: [] }],
      ...(method === 'POST' && {
        requestBody: { content: { [uploads ? 'application/x-ndjson' : 'application/json']: {} } },
      }),
      responses: {
        200: { description: 'Done', content: { [stream ? 'application/x-ndjson' : 'application/json']: {} } },
        ...(!open && { 401: { description: 'No valid API token' } }),
        429: { description: 'Too many requests, or open streams: Retry-After says when to come again' },
      },
    }
    return [`/api/${version}/${name}`, { [method.toLowerCase()]: operation }] as const
  })
  return {
    openapi: '3.1.0',
    info: { title: 'Event store of fastify-allowance, an example', version },
    components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
    paths: Object.fromEntries(paths),
  }
}

function isCommand({ name, uploads, writes }: ApiRoute): boolean {
  return uploads === true || writes === true || name === 'register-event-schema'
}
