import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Runs with a folder that is removed afterwards. */
export async function withFolder<T>(run: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'fastify-allowance-bench-'))
  try {
    return await run(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
