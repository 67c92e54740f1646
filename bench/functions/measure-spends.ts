import { join } from 'node:path'
import { Child, withChildren } from '../processes/child.ts'
import { interleave } from '../processes/interleave.ts'
import type { Series } from '../result.ts'
import type { SpendsSetup } from './spends-child.ts'

/** A subject, and the name of its series when it is not its own. */
export interface Measured extends SpendsSetup {
  readonly name?: string
  readonly x?: number
}

const program = join(import.meta.dirname, 'spends-child.ts')

/** Nanoseconds for a spend of each subject, in interleaved rounds. */
export function measureSpends(
  measured: readonly Measured[],
  rounds: number,
  progress: (text: string) => void,
): Promise<Series[]> {
  progress('filling')
  const starts = measured.map((setup) => () => Child.start(program, setup, ['--max-old-space-size=12000']))
  return withChildren(starts, async (children) => {
    const asks = children.map((child) => () => child.ask<number>('round'))
    const figures = await interleave(rounds, asks, progress)
    return measured.map(({ name, subject, x }, i) => ({
      name: name ?? subject,
      unit: 'ns a spend',
      ...(x !== undefined && { x }),
      rounds: figures[i]!,
    }))
  })
}
