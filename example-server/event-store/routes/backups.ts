import type { Readable } from 'node:stream'
import { z } from 'zod'
import type { ApiRoute, Services, Version } from '../api.ts'
import { answerCommand, managementEvent } from '../api.ts'
import { check, subjectText, typeText } from '../check.ts'
import { candidateShape, checkData, checkStored, type EventCandidate, eventTime } from '../events.ts'
import { jsonLine, uploadedLines } from '../ndjson.ts'
import { Refused } from '../refused.ts'
import { checkSchema } from '../schemas.ts'
import { NOT_EMPTY } from '../store.ts'
import { everything, pagesOf } from './pages.ts'

const exportBody = z
  .strictObject({ subject: subjectText, recursive: z.boolean({ error: 'must be true or false' }).default(true) })
  .default({ subject: '/', recursive: true })

/** What a line of an upload must be, around what its type has to say. */
const lineShape = z.strictObject({ type: z.enum(['event', 'schema']), payload: z.unknown() })
const schemaPayload = z.strictObject({ eventType: typeText, schema: z.unknown() })
// What was stored before may be given away, and is made anew.
const importPayload = z.object({ ...candidateShape, time: eventTime })

export function backupRoutes(services: Services): ApiRoute[] {
  const { store, streams, observers } = services
  let uploading = false

  /** Stages the lines of an upload, and takes them over by `finish`; one upload at a time. */
  const upload = async <T>(
    body: unknown,
    stage: (line: unknown, where: string) => void,
    finish: () => T,
  ): Promise<T> => {
    if (uploading) throw new Refused(409, 'a restore or an import is running already')
    if (body === undefined) throw new Refused(400, 'body: must be the lines of a backup')
    uploading = true
    try {
      store.unstage()
      for await (const { text, number } of uploadedLines(body as Readable)) {
        stage(parseLine(text, number), `line ${number}`)
      }
      return finish()
    } finally {
      store.unstage()
      uploading = false
    }
  }

  return [
    {
      name: 'backup',
      method: 'POST',
      summary: 'Reads all events and schemas, for a restore.',
      streams: true,
      handle(_request, reply) {
        const range = everything(store)
        return streams.send(reply, async function* (signal) {
          for await (const rows of pagesOf(store, range, signal)) {
            if (rows.length > 0) yield rows.map(({ event }) => jsonLine('event', event)).join('')
          }
          for (let at = store.nextSchema(''); at !== undefined && !signal.aborted; at = store.nextSchema(at.type)) {
            yield jsonLine('schema', `{"eventType":${JSON.stringify(at.type)},"schema":${at.schema}}`)
          }
        })
      },
    },
    {
      name: 'export-events',
      method: 'POST',
      summary: 'Reads the events of a subject and those below it, or all, for an import.',
      streams: true,
      handle(request, reply) {
        const { subject, recursive } = check(exportBody, request.body ?? undefined)
        const range = { ...everything(store), subject, recursive }
        return streams.send(reply, async function* (signal) {
          for await (const rows of pagesOf(store, range, signal)) {
            if (rows.length > 0) yield rows.map(({ event }) => jsonLine('event', event)).join('')
          }
        })
      },
    },
    {
      name: 'restore',
      method: 'POST',
      summary: 'Makes a backup the content of this store, which must be empty.',
      uploads: true,
      async handle(request, reply, version) {
        if (store.eventCount() > 0 || store.schemaCount() > 0) throw new Refused(409, NOT_EMPTY)
        const stage = (line: unknown, where: string) => {
          const { type, payload } = check(lineShape, line, where)
          if (type === 'event') {
            store.stage('event', JSON.stringify(checkStored(payload, `${where}.payload`)))
          } else {
            const { schema } = check(schemaPayload, payload, `${where}.payload`)
            checkSchema(schema, `${where}.payload.schema`)
            store.stage('schema', JSON.stringify(payload))
          }
        }
        const restored = await upload(request.body, stage, () => store.restoreStaged())
        observers.notifyAll()
        return done(services, reply, version, 'backup-restored', 'restore', restored)
      },
    },
    {
      name: 'import-events',
      method: 'POST',
      summary:
        'Appends exported events to those that there are, with new ids and hashes. Lines with schemas are refused.',
      uploads: true,
      async handle(request, reply, version) {
        const stage = (line: unknown, where: string) => {
          const { type, payload } = check(lineShape, line, where)
          if (type !== 'event') throw new Refused(400, `${where}.type: must be "event"`)
          const candidate = check(importPayload, payload, `${where}.payload`)
          checkData(candidate as EventCandidate, `${where}.payload`)
          store.stage('event', JSON.stringify(candidate))
        }
        const imported = await upload(request.body, stage, () => store.importStaged())
        observers.notifyAll()
        return done(services, reply, version, 'events-imported', 'import-events', imported)
      },
    },
  ]
}

function parseLine(text: string, number: number): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Refused(400, `line ${number}: must be JSON`)
  }
}

function done(
  services: Services,
  reply: Parameters<typeof answerCommand>[0],
  version: Version,
  event: string,
  route: string,
  payload: unknown,
) {
  const type = event.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())
  return answerCommand(reply, version, managementEvent(services, event, `/api/${version}/${route}`, payload), [
    { type, payload },
  ])
}
