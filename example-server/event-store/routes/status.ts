import type { ApiRoute, Services } from '../api.ts'
import { managementEvent } from '../api.ts'
import { clientLimit, WRITE_UNITS } from '../limits.ts'

export function statusRoutes(services: Services): ApiRoute[] {
  const { store, streams, limits } = services
  return [
    {
      name: 'ping',
      method: 'GET',
      summary: 'Tells whether the server answers. Exempt from the global limits.',
      open: true,
      probe: true,
      handle: (_request, reply, version) =>
        reply.send(managementEvent(services, 'ping-received', `/api/${version}/ping`, { message: 'pong' })),
    },
    {
      name: 'health',
      method: 'GET',
      summary: 'Tells whether the store can be read. Exempt from the global limits.',
      open: true,
      probe: true,
      handle(_request, reply) {
        store.newestId()
        return reply.send({ status: 'pass' })
      },
    },
    {
      name: 'verify-api-token',
      method: 'POST',
      summary: 'Tells whether the API token is valid.',
      handle: (_request, reply, version) =>
        reply.send(managementEvent(services, 'api-token-verified', `/api/${version}/verify-api-token`, {})),
    },
    {
      name: 'diagnostics',
      method: 'GET',
      summary: 'Tells how much is stored, how many streams are open, and what is admitted.',
      handle: (_request, reply) =>
        reply.send({
          events: store.eventCount(),
          schemas: store.schemaCount(),
          openStreams: streams.size,
          limits: { cpus: limits.cpus, requestsPerSecond: clientLimit(limits), unitsPerWrite: WRITE_UNITS },
        }),
    },
  ]
}
