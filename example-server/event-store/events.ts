import { createHash } from 'node:crypto'
import { z } from 'zod'
import { bounds } from './bounds.ts'
import { check, idText, jsonProblem, subjectText, text, typeText } from './check.ts'
import { Refused } from './refused.ts'

/** An event that a client wants to be written. */
export interface EventCandidate {
  source: string
  subject: string
  type: string
  data: Record<string, unknown>
  traceparent?: string | undefined
  tracestate?: string | undefined
}

/** An event as it is stored: a CloudEvent, chained to the one before by its hash. */
export interface StoredEvent extends EventCandidate {
  specversion: '1.0'
  /** Counts from 0, without gaps. */
  id: string
  time: string
  datacontenttype: 'application/json'
  hash: string
  predecessorhash: string
  signature: null
}

/** What stands for the hash of an event before the first. */
export const NO_HASH = '0'.repeat(64)

const object = z.custom<Record<string, unknown>>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  { error: 'must be an object' },
)

export const candidateShape = {
  source: text(bounds.sourceBytes, /^[\x21-\x7e]+$/, 'a URI'),
  subject: subjectText,
  type: typeText,
  data: object,
  traceparent: text(256, /^[\x21-\x7e]+$/, 'visible ASCII characters').optional(),
  tracestate: text(512, /^[\x20-\x7e]+$/, 'ASCII characters').optional(),
}

export const hashText = z
  .string()
  .regex(/^[0-9a-f]{64}$/, { error: 'must be a SHA-256 in lower-case hexadecimal digits' })

export const eventTime = z
  .string({ error: 'must be a time' })
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,9}Z$/, { error: 'must be a time such as "2026-01-31T12:00:00.000Z"' })
  .refine((time) => !Number.isNaN(Date.parse(time)), { error: 'must be a time that there is' })

const storedSchema = z.strictObject({
  ...candidateShape,
  specversion: z.literal('1.0', { error: 'must be "1.0"' }),
  id: idText,
  time: eventTime,
  datacontenttype: z.literal('application/json', { error: 'must be "application/json"' }),
  hash: hashText,
  predecessorhash: hashText,
  signature: z.null({ error: 'must be null: this server signs nothing' }),
})

/** @throws {Refused} when data is too long, too deep, or no JSON. */
export function checkData({ data }: EventCandidate, where: string): void {
  const problem = jsonProblem(data)
  if (problem !== undefined) throw new Refused(400, `${where}.data: ${problem}`)
  if (Buffer.byteLength(JSON.stringify(data)) > bounds.dataBytes) {
    throw new Refused(400, `${where}.data: must be at most ${bounds.dataBytes} bytes of JSON`)
  }
}

/** @throws {Refused} when `value` is no event that a backup may hold. */
export function checkStored(value: unknown, where: string): StoredEvent {
  check(storedSchema, value, where)
  const event = value as StoredEvent
  checkData(event, where)
  return event
}

/** The event that a candidate becomes. */
export function chain(candidate: EventCandidate, id: number, time: string, predecessorhash: string): StoredEvent {
  const { source, subject, type, data, traceparent, tracestate } = candidate
  const event = {
    specversion: '1.0',
    id: String(id),
    time,
    source,
    subject,
    type,
    datacontenttype: 'application/json',
    data,
    predecessorhash,
    ...(traceparent !== undefined && { traceparent }),
    ...(tracestate !== undefined && { tracestate }),
  } as const
  return { ...event, hash: hashOf(event), signature: null }
}

/** The hash of an event: over the hash of what stands around its data, and the hash of its data. */
export function hashOf(event: Omit<StoredEvent, 'hash' | 'signature'>): string {
  const { specversion, id, predecessorhash, time, source, subject, type, datacontenttype, data } = event
  const around = [specversion, id, predecessorhash, time, source, subject, type, datacontenttype].join('|')
  return sha256(sha256(around) + sha256(JSON.stringify(data)))
}

function sha256(value: string): string {
  return createHash('sha256').update(value).digest('hex')
}

/** Whether an event is of a subject, or of one below it. */
export function isUnder(subject: string, base: string, recursive: boolean): boolean {
  if (subject === base) return true
  return recursive && (base === '/' || subject.startsWith(`${base}/`))
}
