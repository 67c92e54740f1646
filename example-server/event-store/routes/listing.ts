import { setImmediate } from 'node:timers/promises'
import { z } from 'zod'
import type { ApiRoute, Services } from '../api.ts'
import { bounds } from '../bounds.ts'
import { check, subjectText, typeText } from '../check.ts'
import type { StoredEvent } from '../events.ts'
import { line } from '../ndjson.ts'
import { parseQuery } from '../query/parse.ts'
import { matches, projected } from '../query/run.ts'
import { Refused } from '../refused.ts'
import { everything, pagesOf } from './pages.ts'

const subjectsBody = z.strictObject({ baseSubject: subjectText })
const typeBody = z.strictObject({ eventType: typeText })
const queryBody = z.strictObject({
  query: z
    .string({ error: 'must be a text' })
    .max(bounds.queryBytes, { error: `must be at most ${bounds.queryBytes} characters` }),
})

export function listingRoutes({ store, streams }: Services): ApiRoute[] {
  return [
    {
      name: 'read-subjects',
      method: 'POST',
      summary: 'Lists the subjects that have events, of a subject and those below it.',
      streams: true,
      handle(request, reply) {
        const { baseSubject } = check(subjectsBody, request.body)
        return streams.send(reply, (signal) =>
          listed((last) => {
            const subject = store.nextSubject(baseSubject, last)
            return subject === undefined ? undefined : { key: subject, text: line('subject', { subject }) }
          }, signal),
        )
      },
    },
    {
      name: 'read-event-types',
      method: 'POST',
      summary: 'Lists the types that have events or a schema.',
      streams: true,
      handle(_request, reply) {
        return streams.send(reply, (signal) =>
          listed((last = '') => {
            const found = store.nextType(last)
            return found && { key: found.type, text: line('eventType', typeInWords(found)) }
          }, signal),
        )
      },
    },
    {
      name: 'read-event-type',
      method: 'POST',
      summary: 'Reads one type, with its schema.',
      handle(request, reply) {
        const found = store.typeOf(check(typeBody, request.body).eventType)
        if (found === undefined) throw new Refused(404, 'there is no such event type')
        return reply.send(typeInWords(found))
      },
    },
    {
      name: 'run-eventql-query',
      method: 'POST',
      summary:
        'Runs a query in a tiny subset of EventQL: FROM e IN events; WHERE with comparisons of a field and a literal, joined by AND; ORDER BY e.id; SKIP; TOP; PROJECT INTO the event, a field, an object of fields, or COUNT().',
      streams: true,
      handle(request, reply) {
        const query = parseQuery(check(queryBody, request.body).query)
        const range = everything(store)
        return streams.send(reply, async function* (signal) {
          let found = 0
          let text = ''
          for await (const rows of pagesOf(store, range, signal, query.descending)) {
            for (const row of rows) {
              if (found >= query.skip + query.top) break
              const event = JSON.parse(row.event) as StoredEvent
              if (!matches(query, event) || found++ < query.skip || 'count' in query.project) continue
              text += line('row', projected(query, event))
              if (text.length < bounds.pageBytes) continue
              yield text
              text = ''
            }
            if (text !== '') yield text
            text = ''
            if (found >= query.skip + query.top) break
          }
          if ('count' in query.project && !signal.aborted) yield line('row', Math.max(0, found - query.skip))
        })
      },
    },
  ]
}

function typeInWords({ type, schema, isPhantom }: { type: string; schema: string | undefined; isPhantom: boolean }) {
  return { eventType: type, isPhantom, ...(schema !== undefined && { schema: JSON.parse(schema) as unknown }) }
}

/** A list that is looked up entry by entry, so that it need not be in memory. */
async function* listed(
  next: (last: string | undefined) => { key: string; text: string } | undefined,
  signal: AbortSignal,
): AsyncGenerator<string> {
  let last: string | undefined
  while (!signal.aborted) {
    let text = ''
    let entry: { key: string; text: string } | undefined
    do {
      entry = next(last)
      last = entry?.key
      text += entry?.text ?? ''
    } while (entry !== undefined && text.length < bounds.pageBytes)
    if (text !== '') yield text
    if (entry === undefined) return
    await setImmediate()
  }
}
