import { DatabaseSync } from 'node:sqlite'
import { StartProblem } from './problem.ts'

/**
 * Opens a SQLite database, makes what is missing of its tables, and prepares the statements.
 * @param path A file, created when it is not there, or `:memory:`.
 * @throws {StartProblem} when the file cannot be opened as such a database.
 */
export function openDatabase<T>(path: string, schema: string, prepare: (db: DatabaseSync) => T) {
  try {
    const db = new DatabaseSync(path)
    db.exec(schema)
    return { db, sql: prepare(db) }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new StartProblem([`--database: ${JSON.stringify(path)}: ${reason}; allowed: a file that SQLite can write`])
  }
}
