import { randomOf, shuffled } from '../random.ts'

/**
 * Measures each of several things once in every round, in another order each time, so that what else the machine does meets
 * them all. @returns The figures of each, by round.
 */
export async function interleave<T>(
  rounds: number,
  measures: readonly ((round: number) => Promise<T>)[],
  progress: (text: string) => void,
): Promise<T[][]> {
  const figures: T[][] = measures.map(() => [])
  const random = randomOf(rounds)
  for (let round = 0; round < rounds; round++) {
    progress(`round ${round + 1} of ${rounds}`)
    for (const index of shuffled([...measures.keys()], random)) {
      figures[index]![round] = await measures[index]!(round)
    }
  }
  return figures
}
