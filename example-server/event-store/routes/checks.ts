import { z } from 'zod'
import type { ApiRoute, Services } from '../api.ts'
import { check, idText } from '../check.ts'
import { checkStored, hashOf, hashText, NO_HASH, type StoredEvent } from '../events.ts'
import { line } from '../ndjson.ts'
import type { EventRow } from '../paging.ts'
import { everything, pagesOf } from './pages.ts'

const auditBody = z.strictObject({ latestEventId: idText, latestEventHash: hashText }).optional()

export function checkRoutes({ store, streams }: Services): ApiRoute[] {
  return [
    {
      name: 'verify-store',
      method: 'POST',
      summary: 'Checks that every event can be read, has its id and fits the schema of its type.',
      streams: true,
      handle(_request, reply) {
        const range = everything(store)
        return streams.send(reply, async function* (signal) {
          let events = 0
          for await (const rows of pagesOf(store, range, signal)) {
            for (const row of rows) {
              const problem = row.id === events ? rowProblem(row) : 'one before it is missing'
              if (problem !== undefined) return yield line('error', { error: `event ${row.id}: ${problem}` })
              const { type, data } = JSON.parse(row.event) as StoredEvent
              if (!store.fits(type, data)) {
                return yield line('error', {
                  error: `event ${row.id}: its data is not what the schema of its type wants`,
                })
              }
              events++
            }
            yield line('progress', { events })
          }
          if (!signal.aborted) yield line('storeVerified', { events })
        })
      },
    },
    {
      name: 'audit-history',
      method: 'POST',
      summary: 'Checks the chain of hashes, and that it has the event that a former audit ended with.',
      streams: true,
      handle(request, reply) {
        const former = check(auditBody, request.body ?? undefined)
        const range = everything(store)
        return streams.send(reply, async function* (signal) {
          let hash = NO_HASH
          let events = 0
          for await (const rows of pagesOf(store, range, signal)) {
            for (const { id, event } of rows) {
              const stored = JSON.parse(event) as StoredEvent
              if (id !== events || stored.predecessorhash !== hash || hashOf(stored) !== stored.hash) {
                return yield line('error', { error: `event ${id}: its hashes do not fit it and the event before it` })
              }
              hash = stored.hash
              if (former?.latestEventId === stored.id && former.latestEventHash !== hash) {
                return yield line('error', { error: `event ${id}: has another hash than at the former audit` })
              }
              events++
            }
            yield line('progress', { events })
          }
          if (signal.aborted) return
          if (former !== undefined && Number(former.latestEventId) >= events) {
            return yield line('error', { error: `event ${former.latestEventId}: is missing` })
          }
          const latest = events === 0 ? {} : { latestEventId: String(events - 1), latestEventHash: hash }
          yield line('historyAudited', { events, ...latest })
        })
      },
    },
  ]
}

/** What is wrong with a row; undefined: nothing. */
function rowProblem({ id, event }: EventRow): string | undefined {
  try {
    const stored = checkStored(JSON.parse(event), 'event')
    return stored.id === String(id) ? undefined : 'it has the id of another'
  } catch (error) {
    return (error as Error).message
  }
}
