import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { bareEnv } from '../processes/child.ts'
import type { SubjectName } from './subjects.ts'

const program = join(import.meta.dirname, 'garbage-child.ts')

/** How often the garbage collector ran, by its own trace, while a subject spent so often: a multiple of the callers. */
export async function collectionsDuring(subject: SubjectName, callers: number, spends: number): Promise<number> {
  // Compiled at once, so that no spend runs uncompiled because a thread that compiles had to wait.
  const flags = ['--no-concurrent-recompilation', '--trace-gc', '--expose-gc', program]
  const args = ['--subject', subject, '--callers', String(callers), '--spends', String(spends)]
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, ...args], { env: bareEnv })
  return collectionsIn(stdout)
}

/** How many collections a trace shows between its last two that the program asked for, which V8 calls `testing`. */
function collectionsIn(trace: string): number {
  const lines = trace.split('\n').filter((line) => /\bms: (Scavenge|Mark-Compact|Minor Mark-Sweep)\b/.test(line))
  const asked = [...lines.keys()].filter((at) => lines[at]!.includes('testing'))
  const [from, to] = asked.slice(-2)
  if (from === undefined || to === undefined) throw new Error(`no collections asked for in the trace:\n${trace}`)
  return to - from - 1
}
