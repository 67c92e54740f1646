import { timesTheTime } from './functions/compare.ts'
import { measureSpends } from './functions/measure-spends.ts'
import type { Benchmark } from './result.ts'
import type { Sizes } from './sizes.ts'

const ONE = 'fastify-allowance'
const THREE = 'fastify-allowance, three bounds'
const MAX_MEMORY_MIB = 64

/** P6: what further bounds cost. */
export const p6: Benchmark<Sizes> = {
  id: 'P6',
  title: 'spend() under three bounds (caller, address, everyone) instead of one',
  async run({ sizes, progress }) {
    const { callers, rounds } = sizes
    const room = { callers, maxMemoryMib: MAX_MEMORY_MIB, visited: callers, spends: callers, runs: 1 }
    const measured = [ONE, THREE] as const
    const series = await measureSpends(
      measured.map((subject) => ({ ...room, subject })),
      rounds,
      progress,
    )
    return {
      series,
      targets: [timesTheTime(series, THREE, ONE, 2.5)],
      notes: ['Each bound has two limits, and each caller an address of its own.'],
    }
  },
}
