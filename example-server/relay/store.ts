import type { DatabaseSync } from 'node:sqlite'
import { openDatabase } from '../database.ts'

/** A message that its sender has signed. */
export interface Message {
  id: string
  recipient: string
  /** As it was sent, with its signature. */
  text: string
}

const SCHEMA = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  PRAGMA busy_timeout = 5000;
  PRAGMA foreign_keys = ON;
  CREATE TABLE IF NOT EXISTS messages (
    place INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, recipient TEXT NOT NULL, text TEXT NOT NULL,
    received_at_ms INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS acks (
    message_id TEXT PRIMARY KEY REFERENCES messages (id) ON DELETE CASCADE, text TEXT NOT NULL,
    received_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
`

/** Messages and their acknowledgements, in one SQLite database: so many messages, and then the oldest go. */
export class RelayStore {
  readonly #db: DatabaseSync
  readonly #sql: ReturnType<typeof prepare>
  readonly #maxMessages: number

  /**
   * @param path A file, created when it is not there, or `:memory:` (default).
   * @throws {StartProblem} when the file cannot be opened as a database.
   */
  constructor(path = ':memory:', maxMessages = 10_000) {
    const { db, sql } = openDatabase(path, SCHEMA, prepare)
    this.#db = db
    this.#sql = sql
    this.#maxMessages = maxMessages
  }

  /** Keeps a message; one that is there already stays as it is. */
  addMessage({ id, recipient, text }: Message, nowMs: number): void {
    this.#sql.addMessage.run(id, recipient, text, nowMs)
    this.#sql.forgetMessages.run(this.#maxMessages)
  }

  /** Keeps an acknowledgement; false where there is no such message for `recipient`. The first one stays. */
  addAck(messageId: string, recipient: string, text: string, nowMs: number): boolean {
    if (this.#sql.messageFor.get(messageId, recipient) === undefined) return false
    this.#sql.addAck.run(messageId, text, nowMs)
    return true
  }

  /** How many rows a table holds: what a test looks at to see that refused work was not done. */
  count(table: 'messages' | 'acks'): number {
    return this.#db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.n as number
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close()
  }
}

function prepare(db: DatabaseSync) {
  return {
    addMessage: db.prepare('INSERT OR IGNORE INTO messages (id, recipient, text, received_at_ms) VALUES (?, ?, ?, ?)'),
    // Places are given in order, without gaps.
    forgetMessages: db.prepare('DELETE FROM messages WHERE place <= (SELECT max(place) FROM messages) - ?'),
    messageFor: db.prepare('SELECT 1 FROM messages WHERE id = ? AND recipient = ?'),
    addAck: db.prepare('INSERT OR IGNORE INTO acks (message_id, text, received_at_ms) VALUES (?, ?, ?)'),
  }
}
