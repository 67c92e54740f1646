import { z } from 'zod'
import type { ApiRoute, Services } from '../api.ts'
import { check, idText, subjectText, typeText } from '../check.ts'
import { jsonLine, line } from '../ndjson.ts'
import type { EventRow, Range } from '../paging.ts'
import { pagesOf } from './pages.ts'

const bound = z.strictObject({ id: idText, type: z.enum(['inclusive', 'exclusive']) })
const latest = <T extends string>(...ifEventIsMissing: [T, T]) =>
  z.strictObject({ subject: subjectText, type: typeText, ifEventIsMissing: z.enum(ifEventIsMissing) })
const notBoth = (options: { lowerBound?: unknown; fromLatestEvent?: unknown }) =>
  options.lowerBound === undefined || options.fromLatestEvent === undefined
const NOT_BOTH = { error: 'must not have both lowerBound and fromLatestEvent' }

const readBody = z.strictObject({
  subject: subjectText,
  options: z
    .strictObject({
      recursive: z.boolean({ error: 'must be true or false' }),
      order: z.enum(['chronological', 'antichronological']).default('chronological'),
      lowerBound: bound.optional(),
      upperBound: bound.optional(),
      fromLatestEvent: latest('read-nothing', 'read-everything').optional(),
    })
    .refine(notBoth, NOT_BOTH)
    .default({ recursive: false, order: 'chronological' }),
})

const observeBody = z.strictObject({
  subject: subjectText,
  options: z
    .strictObject({
      recursive: z.boolean({ error: 'must be true or false' }),
      lowerBound: bound.optional(),
      fromLatestEvent: latest('wait-for-event', 'read-everything').optional(),
    })
    .refine(notBoth, NOT_BOTH)
    .default({ recursive: false }),
})

export function readingRoutes({ store, streams, observers }: Services): ApiRoute[] {
  return [
    {
      name: 'read-events',
      method: 'POST',
      summary: 'Reads the events of a subject, up to the newest that there is when the reading starts.',
      streams: true,
      handle(request, reply) {
        const { subject, options } = check(readBody, request.body)
        const { recursive, order, lowerBound, upperBound, fromLatestEvent } = options
        const range: Range = { subject, recursive, from: lowerId(lowerBound), to: store.newestId() }
        if (upperBound !== undefined) {
          range.to = Math.min(range.to, Number(upperBound.id) - (upperBound.type === 'exclusive' ? 1 : 0))
        }
        if (fromLatestEvent !== undefined) {
          const id = store.newestIdOf(fromLatestEvent.subject, fromLatestEvent.type)
          if (id !== -1) range.from = id
          else if (fromLatestEvent.ifEventIsMissing === 'read-nothing') range.to = -1
        }
        return streams.send(reply, async function* (signal) {
          for await (const rows of pagesOf(store, range, signal, order === 'antichronological')) {
            if (rows.length > 0) yield eventLines(rows)
          }
        })
      },
    },
    {
      name: 'observe-events',
      method: 'POST',
      summary: 'Reads the events of a subject, and then those that are written, until the client leaves.',
      streams: true,
      handle(request, reply) {
        const { subject, options } = check(observeBody, request.body)
        const { recursive, lowerBound, fromLatestEvent } = options
        return streams.send(reply, async function* (signal) {
          // Says at once that the stream is open.
          yield HEARTBEAT
          let from = lowerId(lowerBound)
          while (fromLatestEvent !== undefined && !signal.aborted) {
            const id = store.newestIdOf(fromLatestEvent.subject, fromLatestEvent.type)
            if (id !== -1) from = id
            if (id !== -1 || fromLatestEvent.ifEventIsMissing === 'read-everything') break
            const written = await observers.wait(fromLatestEvent.subject, false, signal)
            if (!written && !signal.aborted) yield HEARTBEAT
          }
          while (!signal.aborted) {
            const to = store.newestId()
            for await (const rows of pagesOf(store, { subject, recursive, from, to }, signal)) {
              if (rows.length > 0) yield eventLines(rows)
            }
            from = Math.max(from, to + 1)
            if (store.newestId() >= from) continue
            const written = await observers.wait(subject, recursive, signal)
            if (!written && !signal.aborted) yield HEARTBEAT
          }
        })
      },
    },
  ]
}

const HEARTBEAT = line('heartbeat', {})

function eventLines(rows: readonly EventRow[]): string {
  return rows.map(({ event }) => jsonLine('event', event)).join('')
}

function lowerId(bound: { id: string; type: string } | undefined): number {
  return bound === undefined ? 0 : Number(bound.id) + (bound.type === 'exclusive' ? 1 : 0)
}
