import type { DatabaseSync } from 'node:sqlite'
import { openDatabase } from '../database.ts'
import type { Submission } from './submission.ts'

const SCHEMA = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  PRAGMA busy_timeout = 5000;
  CREATE TABLE IF NOT EXISTS settled (
    id TEXT PRIMARY KEY, network_id INTEGER NOT NULL, method TEXT NOT NULL, payload BLOB NOT NULL, hash TEXT NOT NULL,
    settled_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
`

/** What has been settled, in one SQLite database. */
export class Settled {
  readonly #db: DatabaseSync
  readonly #sql

  /**
   * @param path A file, created when it is not there, or `:memory:` (default).
   * @throws {StartProblem} when the file cannot be opened as a database.
   */
  constructor(path = ':memory:') {
    const { db, sql } = openDatabase(path, SCHEMA, (db) => ({
      add: db.prepare('INSERT OR IGNORE INTO settled VALUES (?, ?, ?, ?, ?, ?)'),
      find: db.prepare('SELECT hash FROM settled WHERE id = ?'),
      count: db.prepare('SELECT count(*) AS n FROM settled'),
    }))
    this.#db = db
    this.#sql = sql
  }

  /** Keeps what has been settled; what is there already stays as it is. */
  add({ id, networkId, method, payload }: Submission, hash: string, nowMs: number): void {
    this.#sql.add.run(id, networkId, method, payload, hash, nowMs)
  }

  /** The hash that a submission was settled with. */
  find(id: string): string | undefined {
    return this.#sql.find.get(id)?.hash as string | undefined
  }

  count(): number {
    return this.#sql.count.get()?.n as number
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close()
  }
}
