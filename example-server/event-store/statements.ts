import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { bounds } from './bounds.ts'

export const TABLES = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  PRAGMA busy_timeout = 5000;
  CREATE TABLE IF NOT EXISTS events (
    id INTEGER PRIMARY KEY, subject TEXT NOT NULL, type TEXT NOT NULL, event TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS events_by_subject ON events (subject, id);
  CREATE INDEX IF NOT EXISTS events_by_type ON events (type, id);
  CREATE TABLE IF NOT EXISTS schemas (type TEXT PRIMARY KEY, schema TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TEMP TABLE IF NOT EXISTS staged (position INTEGER PRIMARY KEY, kind TEXT NOT NULL, line TEXT NOT NULL) STRICT;
`

export type Statements = ReturnType<typeof prepare>

/** Prepares what is asked of the tables, and written to them. */
export function prepare(db: DatabaseSync) {
  const pages = (order: 'ASC' | 'DESC'): { exact: StatementSync; recursive: StatementSync } => ({
    exact: db.prepare(
      `SELECT id, event FROM events WHERE subject = ? AND id BETWEEN ? AND ? ORDER BY id ${order} LIMIT ${bounds.windowEvents}`,
    ),
    recursive: db.prepare(
      // The plus signs keep SQLite from taking the index of subjects, and sorting.
      `SELECT id, event FROM events WHERE id BETWEEN ? AND ? AND (+subject = ? OR +subject >= ? AND +subject < ?)
       ORDER BY id ${order}`,
    ),
  })
  return {
    up: pages('ASC'),
    down: pages('DESC'),
    newestId: db.prepare('SELECT max(id) AS id FROM events'),
    event: db.prepare('SELECT id, event FROM events WHERE id = ?'),
    newestOf: db.prepare('SELECT max(id) AS id FROM events WHERE subject = ?'),
    newestOfType: db.prepare('SELECT max(id) AS id FROM events WHERE subject = ? AND +type = ?'),
    add: db.prepare('INSERT INTO events (id, subject, type, event) VALUES (?, ?, ?, ?)'),
    eventsOfType: db.prepare('SELECT id, event FROM events WHERE type = ? ORDER BY id'),
    hasType: db.prepare('SELECT 1 FROM events WHERE type = ? LIMIT 1'),
    schema: db.prepare('SELECT schema FROM schemas WHERE type = ?'),
    addSchema: db.prepare('INSERT INTO schemas (type, schema) VALUES (?, ?)'),
    schemaCount: db.prepare('SELECT count(*) AS n FROM schemas'),
    nextSchema: db.prepare('SELECT type, schema FROM schemas WHERE type > ? ORDER BY type LIMIT 1'),
    nextSubject: db.prepare(
      'SELECT min(subject) AS subject FROM events WHERE subject > ? AND subject >= ? AND subject < ?',
    ),
    nextType: db.prepare(`
      SELECT min(type) AS type FROM (
        SELECT min(type) AS type FROM events WHERE type > ? UNION ALL SELECT min(type) FROM schemas WHERE type > ?)`),
    stage: db.prepare('INSERT INTO staged (kind, line) VALUES (?, ?)'),
    staged: db.prepare('SELECT line FROM staged WHERE kind = ? ORDER BY position'),
  }
}
