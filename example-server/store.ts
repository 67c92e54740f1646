import type { DatabaseSync } from 'node:sqlite'
import { openDatabase } from './database.ts'

/** An envelope to store, its payload already serialized. */
export interface NewEnvelope {
  topic: string
  envelope: Uint8Array
}

export interface EnvelopeRow {
  sequenceId: bigint
  storedAtMs: number
  envelope: Uint8Array
}

export interface Association {
  identifier: string
  inboxId: string
}

export type Rows = 'envelopes' | 'identities' | 'installations' | 'subscriptions' | 'uploads'

/** The greatest integer that SQLite stores. */
const MAX_SEQUENCE_ID = 2n ** 63n - 1n

const SCHEMA = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  PRAGMA busy_timeout = 5000;
  PRAGMA foreign_keys = ON;
  CREATE TABLE IF NOT EXISTS envelopes (
    sequence_id INTEGER PRIMARY KEY AUTOINCREMENT, topic TEXT NOT NULL, stored_at_ms INTEGER NOT NULL, envelope BLOB NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS envelopes_by_topic ON envelopes (topic, sequence_id);
  CREATE TABLE IF NOT EXISTS identities (identifier TEXT PRIMARY KEY, inbox_id TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS installations (id BLOB PRIMARY KEY, delivery_token TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS subscriptions (
    installation_id BLOB NOT NULL REFERENCES installations (id), topic TEXT NOT NULL, PRIMARY KEY (installation_id, topic)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS uploads (
    id TEXT PRIMARY KEY, size_bytes INTEGER NOT NULL, expires_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
`

/** What the backend keeps, in one SQLite database. Each method is one transaction. */
export class Store {
  readonly #db: DatabaseSync
  readonly #sql: ReturnType<typeof prepare>

  /**
   * @param path A file, created when it is not there, or `:memory:` (default).
   * @throws {StartProblem} when the file cannot be opened as a database.
   */
  constructor(path = ':memory:') {
    const { db, sql } = openDatabase(path, SCHEMA, prepare)
    this.#db = db
    this.#sql = sql
  }

  /** Stores all of it or nothing; returns the sequence ids of the envelopes. */
  publish(envelopes: readonly NewEnvelope[], associations: readonly Association[], nowMs: number): bigint[] {
    return this.#transaction(() => {
      const ids = envelopes.map(({ topic, envelope }) =>
        BigInt(this.#sql.addEnvelope.run(topic, nowMs, envelope).lastInsertRowid),
      )
      for (const { identifier, inboxId } of associations) this.#sql.associate.run(identifier, inboxId)
      return ids
    })
  }

  /** The envelopes of `topics` after a sequence id, oldest first. */
  query(topics: readonly string[], afterSequenceId: bigint, limit: number): EnvelopeRow[] {
    const after = afterSequenceId < MAX_SEQUENCE_ID ? afterSequenceId : MAX_SEQUENCE_ID
    return this.#sql.query.all(JSON.stringify(topics), after, limit).map(toEnvelopeRow)
  }

  /** The newest envelope of each topic that has one, in the order of `topics`. */
  queryNewest(topics: readonly string[]): EnvelopeRow[] {
    return this.#sql.queryNewest.all(JSON.stringify(topics)).map(toEnvelopeRow)
  }

  /** The envelopes of one topic after a sequence id, oldest first. */
  history(topic: string, afterSequenceId: bigint, limit: number): EnvelopeRow[] {
    const after = afterSequenceId < MAX_SEQUENCE_ID ? afterSequenceId : MAX_SEQUENCE_ID
    return this.#sql.history.all(topic, after, limit).map(toEnvelopeRow)
  }

  /** The greatest sequence id of `topics`; 0: they have no envelope. */
  newestOf(topics: readonly string[]): bigint {
    return BigInt((this.#sql.newestOf.get(JSON.stringify(topics))?.newest ?? 0) as number)
  }

  /** The inbox of each identifier that has one, in the order of `identifiers`. */
  inboxIds(identifiers: readonly string[]): Association[] {
    return this.#sql.inboxIds
      .all(JSON.stringify(identifiers))
      .map((row) => ({ identifier: row.identifier as string, inboxId: row.inbox_id as string }))
  }

  register(installationId: Uint8Array, deliveryToken: string): void {
    this.#sql.register.run(installationId, deliveryToken)
  }

  isRegistered(installationId: Uint8Array): boolean {
    return this.#sql.isRegistered.get(installationId) !== undefined
  }

  /**
   * Removes, then adds, topics of a registered installation. Returns how many it has then, or undefined, with nothing
   * changed, when that would be more than `maxTopics`.
   */
  updateSubscriptions(
    installationId: Uint8Array,
    adds: readonly string[],
    removes: readonly string[],
    maxTopics: number,
  ): number | undefined {
    return this.#transaction(
      () => {
        this.#sql.unsubscribe.run(installationId, JSON.stringify(removes))
        this.#sql.subscribe.run(installationId, JSON.stringify(adds))
        const topics = this.#sql.subscriptions.get(installationId)?.topics as number
        return topics > maxTopics ? undefined : topics
      },
      (topics) => topics !== undefined,
    )
  }

  /** Records an upload and forgets those that have expired. */
  addUpload(id: string, sizeBytes: number, expiresAtMs: number, nowMs: number): void {
    this.#transaction(() => {
      this.#sql.forgetUploads.run(nowMs)
      this.#sql.addUpload.run(id, sizeBytes, expiresAtMs)
    })
  }

  /** How many rows a table holds: what a test looks at to see that refused work was not done. */
  count(table: Rows): number {
    return this.#db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.n as number
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close()
  }

  #transaction<T>(work: () => T, keep: (result: T) => boolean = () => true): T {
    this.#db.exec('BEGIN IMMEDIATE')
    try {
      const result = work()
      this.#db.exec(keep(result) ? 'COMMIT' : 'ROLLBACK')
      return result
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
      throw error
    }
  }
}

function prepare(db: DatabaseSync) {
  return {
    addEnvelope: db.prepare('INSERT INTO envelopes (topic, stored_at_ms, envelope) VALUES (?, ?, ?)'),
    associate: db.prepare('INSERT OR REPLACE INTO identities (identifier, inbox_id) VALUES (?, ?)'),
    query: db.prepare(`
      SELECT sequence_id, stored_at_ms, envelope FROM envelopes
      WHERE topic IN (SELECT value FROM json_each(?)) AND sequence_id > ? ORDER BY sequence_id LIMIT ?`),
    queryNewest: db.prepare(`
      SELECT sequence_id, stored_at_ms, envelope FROM json_each(?) AS asked
      JOIN envelopes ON sequence_id = (SELECT max(sequence_id) FROM envelopes WHERE topic = asked.value)
      ORDER BY asked.key`),
    history: db.prepare(`
      SELECT sequence_id, stored_at_ms, envelope FROM envelopes
      WHERE topic = ? AND sequence_id > ? ORDER BY sequence_id LIMIT ?`),
    newestOf: db.prepare(`
      SELECT max((SELECT max(sequence_id) FROM envelopes WHERE topic = asked.value)) AS newest FROM json_each(?) AS asked`),
    inboxIds: db.prepare(`
      SELECT identifier, inbox_id FROM json_each(?) AS asked JOIN identities ON identifier = asked.value
      ORDER BY asked.key`),
    register: db.prepare(`
      INSERT INTO installations (id, delivery_token) VALUES (?, ?)
      ON CONFLICT (id) DO UPDATE SET delivery_token = excluded.delivery_token`),
    isRegistered: db.prepare('SELECT 1 FROM installations WHERE id = ?'),
    subscribe: db.prepare(`
      INSERT OR IGNORE INTO subscriptions (installation_id, topic) SELECT ?, value FROM json_each(?)`),
    unsubscribe: db.prepare(`
      DELETE FROM subscriptions WHERE installation_id = ? AND topic IN (SELECT value FROM json_each(?))`),
    subscriptions: db.prepare('SELECT count(*) AS topics FROM subscriptions WHERE installation_id = ?'),
    forgetUploads: db.prepare('DELETE FROM uploads WHERE expires_at_ms <= ?'),
    addUpload: db.prepare('INSERT INTO uploads (id, size_bytes, expires_at_ms) VALUES (?, ?, ?)'),
  }
}

function toEnvelopeRow(row: Record<string, unknown>): EnvelopeRow {
  return {
    sequenceId: BigInt(row.sequence_id as number),
    storedAtMs: row.stored_at_ms as number,
    envelope: row.envelope as Uint8Array,
  }
}
