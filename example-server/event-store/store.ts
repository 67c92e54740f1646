import type { DatabaseSync } from 'node:sqlite'
import { openDatabase } from '../database.ts'
import { chain, type EventCandidate, hashOf, NO_HASH, type StoredEvent } from './events.ts'
import { after, type EventPage, type EventRow, type Range, readPage } from './paging.ts'
import { Refused } from './refused.ts'
import { type CheckData, compileSchema } from './schemas.ts'
import { prepare, TABLES } from './statements.ts'

/** What must hold, at the moment of the write, for events to be written. */
export type Precondition =
  | { type: 'isSubjectPristine' | 'isSubjectPopulated'; payload: { subject: string } }
  | { type: 'isSubjectOnEventId'; payload: { subject: string; eventId: string } }

/** A schema as it was registered. */
export interface SchemaRow {
  type: string
  /** In JSON. */
  schema: string
}

/**
 * The events and schemas, in one SQLite database. Each method is one transaction. They take a bounded time, but for those
 * that put a schema beside the events of its type, and those that take over what was staged.
 */
export class EventStore {
  readonly #db: DatabaseSync
  readonly #sql: ReturnType<typeof prepare>
  readonly #checks = new Map<string, CheckData>()

  /**
   * @param path A file, created when it is not there, or `:memory:` (default).
   * @throws {StartProblem} when the file cannot be opened as a database.
   */
  constructor(path = ':memory:') {
    const { db, sql } = openDatabase(path, TABLES, prepare)
    this.#db = db
    this.#sql = sql
  }

  /** The id of the newest event; -1: there is none. */
  newestId(): number {
    return (this.#sql.newestId.get()?.id ?? -1) as number
  }

  eventCount(): number {
    return this.newestId() + 1
  }

  event(id: number): EventRow | undefined {
    return this.#sql.event.get(id) as EventRow | undefined
  }

  /** The id of the newest event of a subject itself, of one type or of any; -1: there is none. */
  newestIdOf(subject: string, type?: string): number {
    const row = type === undefined ? this.#sql.newestOf.get(subject) : this.#sql.newestOfType.get(subject, type)
    return (row?.id ?? -1) as number
  }

  /**
   * Some events of a range, the next ones in its order, and where to go on; `next` is undefined at the end. There may be
   * no events, and more to look at.
   */
  page(range: Range, descending = false): EventPage {
    return readPage(this.#sql, range, descending)
  }

  /**
   * Writes all of them or none.
   * @throws {Refused} 409 when a precondition does not hold, or data is not what the schema of its type wants.
   */
  write(candidates: readonly EventCandidate[], preconditions: readonly Precondition[], nowMs: number): StoredEvent[] {
    return this.#transaction(() => {
      for (const [i, precondition] of preconditions.entries()) this.#require(precondition, i)
      const time = new Date(nowMs).toISOString()
      return [...this.#append(candidates.map((candidate) => ({ candidate, time })))]
    })
  }

  /** @throws {Refused} 409 when the type has a schema, or an event that is not what this one wants. */
  registerSchema(type: string, schema: unknown): void {
    this.#transaction(() => this.#addSchema(type, schema))
  }

  /** A schema in JSON. */
  schemaOf(type: string): string | undefined {
    return this.#sql.schema.get(type)?.schema as string | undefined
  }

  /** Whether data fits the schema of its type, or the type has none. */
  fits(type: string, data: unknown): boolean {
    const known = this.#checks.get(type)
    if (known !== undefined) return known(data)
    const schema = this.schemaOf(type)
    if (schema === undefined) return true
    // What was made is thrown away rather than kept for every type there will ever be.
    if (this.#checks.size === 1000) this.#checks.clear()
    const fits = compileSchema(JSON.parse(schema))
    this.#checks.set(type, fits)
    return fits(data)
  }

  /** The next subject that has an event, of a subject and those below it, in the order of their bytes. */
  nextSubject(base: string, last: string | undefined): string | undefined {
    const from = base === '/' ? '/' : `${base}/`
    if (last === undefined && this.newestIdOf(base) !== -1) return base
    return (this.#sql.nextSubject.get(last === undefined || last === base ? from : last, from, after(base))?.subject ??
      undefined) as string | undefined
  }

  /** The next event type, of an event or a schema, in the order of their bytes. */
  nextType(last: string): { type: string; schema: string | undefined; isPhantom: boolean } | undefined {
    const type = this.#sql.nextType.get(last, last)?.type as string | null | undefined
    return type == null ? undefined : this.typeOf(type)
  }

  typeOf(type: string): { type: string; schema: string | undefined; isPhantom: boolean } | undefined {
    const schema = this.schemaOf(type)
    const isPhantom = this.#sql.hasType.get(type) === undefined
    return isPhantom && schema === undefined ? undefined : { type, schema, isPhantom }
  }

  nextSchema(last: string): SchemaRow | undefined {
    return this.#sql.nextSchema.get(last) as SchemaRow | undefined
  }

  schemaCount(): number {
    return this.#sql.schemaCount.get()?.n as number
  }

  /** Keeps a line of an upload apart, until all of them are known to be good. */
  stage(kind: 'event' | 'schema', line: string): void {
    this.#sql.stage.run(kind, line)
  }

  unstage(): void {
    this.#db.exec('DELETE FROM staged')
  }

  /**
   * Makes the staged lines the content of this store, as they are.
   * @throws {Refused} 409 when it is not empty, or an event is not what its schema wants; 400 when the lines are no unbroken
   * chain of events from the first one.
   */
  restoreStaged(): { events: number; schemas: number } {
    return this.#transaction(() => {
      if (this.newestId() !== -1 || this.schemaCount() > 0) throw new Refused(409, NOT_EMPTY)
      let id = 0
      let predecessorhash = NO_HASH
      for (const { line } of this.#sql.staged.iterate('event') as Iterable<{ line: string }>) {
        const event = JSON.parse(line) as StoredEvent
        if (event.id !== String(id)) throw new Refused(400, `event ${id}: must have the id ${id}: ids count from 0`)
        if (event.predecessorhash !== predecessorhash || event.hash !== hashOf(event)) {
          throw new Refused(400, `event ${id}: its hashes do not fit it and the event before it`)
        }
        this.#sql.add.run(id++, event.subject, event.type, line)
        predecessorhash = event.hash
      }
      return { events: id, schemas: this.#addStagedSchemas() }
    })
  }

  /**
   * Appends the staged events to those that there are: with new ids and hashes, and the times that they have.
   * @throws {Refused} 409 when data is not what the schema of its type wants.
   */
  importStaged(): { events: number } {
    return this.#transaction(() => {
      let events = 0
      for (const _ of this.#append(this.#stagedCandidates())) events++
      return { events }
    })
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close()
  }

  *#stagedCandidates(): Generator<{ candidate: EventCandidate; time: string }> {
    for (const { line } of this.#sql.staged.iterate('event') as Iterable<{ line: string }>) {
      const candidate = JSON.parse(line) as StoredEvent
      yield { candidate, time: candidate.time }
    }
  }

  *#append(entries: Iterable<{ candidate: EventCandidate; time: string }>): Generator<StoredEvent> {
    let id = this.newestId()
    let hash = id === -1 ? NO_HASH : (JSON.parse(this.event(id)!.event) as StoredEvent).hash
    let i = 0
    for (const { candidate, time } of entries) {
      if (!this.fits(candidate.type, candidate.data)) {
        throw new Refused(409, `events[${i}]: its data is not what the schema of its type wants`)
      }
      const event = chain(candidate, ++id, time, hash)
      this.#sql.add.run(id, event.subject, event.type, JSON.stringify(event))
      hash = event.hash
      i++
      yield event
    }
  }

  #addStagedSchemas(): number {
    let schemas = 0
    for (const { line } of this.#sql.staged.iterate('schema') as Iterable<{ line: string }>) {
      const { eventType, schema } = JSON.parse(line) as { eventType: string; schema: unknown }
      this.#addSchema(eventType, schema)
      schemas++
    }
    return schemas
  }

  #addSchema(type: string, schema: unknown): void {
    const fits = compileSchema(schema)
    if (this.#sql.schema.get(type) !== undefined) throw new Refused(409, 'the event type has a schema already')
    for (const { event } of this.#sql.eventsOfType.iterate(type) as Iterable<EventRow>) {
      if (!fits((JSON.parse(event) as StoredEvent).data)) {
        throw new Refused(409, 'an event of this type is not what the schema wants')
      }
    }
    this.#sql.addSchema.run(type, JSON.stringify(schema))
  }

  #require(precondition: Precondition, i: number): void {
    const newest = this.newestIdOf(precondition.payload.subject)
    const holds = {
      isSubjectPristine: newest === -1,
      isSubjectPopulated: newest !== -1,
      isSubjectOnEventId: 'eventId' in precondition.payload && newest === Number(precondition.payload.eventId),
    }[precondition.type]
    if (!holds) throw new Refused(409, `preconditions[${i}]: ${precondition.type} does not hold`)
  }

  #transaction<T>(work: () => T): T {
    this.#db.exec('BEGIN IMMEDIATE')
    try {
      const result = work()
      this.#db.exec('COMMIT')
      return result
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
      throw error
    }
  }
}

export const NOT_EMPTY = 'a backup can only be restored into a store that is empty'
