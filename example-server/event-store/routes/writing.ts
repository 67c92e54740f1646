import { z } from 'zod'
import type { ApiRoute, Services } from '../api.ts'
import { answerCommand, managementEvent } from '../api.ts'
import { bounds } from '../bounds.ts'
import { check, idText, subjectText, typeText } from '../check.ts'
import { candidateShape, checkData, type EventCandidate } from '../events.ts'
import { checkSchema } from '../schemas.ts'
import type { Precondition } from '../store.ts'

const writeBody = z.strictObject({
  events: z
    .array(z.strictObject(candidateShape), { error: 'must be an array of events' })
    .min(1, { error: 'must have at least one event' })
    .max(bounds.eventsPerWrite, { error: `must have at most ${bounds.eventsPerWrite} events` }),
  preconditions: z
    .array(
      z.discriminatedUnion(
        'type',
        [
          z.strictObject({
            type: z.enum(['isSubjectPristine', 'isSubjectPopulated']),
            payload: z.strictObject({ subject: subjectText }),
          }),
          z.strictObject({
            type: z.literal('isSubjectOnEventId'),
            payload: z.strictObject({ subject: subjectText, eventId: idText }),
          }),
        ],
        { error: 'must be of the type isSubjectPristine, isSubjectPopulated or isSubjectOnEventId' },
      ),
      { error: 'must be an array of preconditions' },
    )
    .max(bounds.preconditionsPerWrite, { error: `must be at most ${bounds.preconditionsPerWrite}` })
    .default([]),
})

const schemaBody = z.strictObject({ eventType: typeText, schema: z.unknown() })

export function writingRoutes(services: Services): ApiRoute[] {
  const { store, observers, clock } = services
  return [
    {
      name: 'write-events',
      method: 'POST',
      summary: 'Writes events, all or none. Costs several units.',
      writes: true,
      handle(request, reply, version) {
        const { events: candidates, preconditions } = check(writeBody, request.body)
        for (const [i, candidate] of candidates.entries()) checkData(candidate as EventCandidate, `body.events[${i}]`)
        const events = store.write(
          candidates as EventCandidate[],
          preconditions as readonly Precondition[],
          clock.wall(),
        )
        observers.notify(events.map(({ subject }) => subject))
        return answerCommand(
          reply,
          version,
          events,
          events.map((payload) => ({ type: 'event', payload })),
        )
      },
    },
    {
      name: 'register-event-schema',
      method: 'POST',
      summary: 'Registers a schema, which the data of all events of a type must fit from now on.',
      handle(request, reply, version) {
        const { eventType, schema } = check(schemaBody, request.body)
        checkSchema(schema, 'body.schema')
        store.registerSchema(eventType, schema)
        const path = `/api/${version}/register-event-schema`
        return answerCommand(
          reply,
          version,
          managementEvent(services, 'event-schema-registered', path, { eventType, schema }),
          [{ type: 'eventSchemaRegistered', payload: { eventType, schema } }],
        )
      },
    },
  ]
}
