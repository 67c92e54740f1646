import { timesAsFast, timesTheTime } from './functions/compare.ts'
import { collectionsDuring } from './functions/garbage.ts'
import { measureSpends } from './functions/measure-spends.ts'
import type { SubjectName } from './functions/subjects.ts'
import type { Benchmark } from './result.ts'
import type { Sizes } from './sizes.ts'

const OURS = 'fastify-allowance'
const MAX_MEMORY_MIB = 64
/** Runs that one round is the mean of. */
const RUNS = 1
/** Whose spends the collector's trace is of: how many they are makes no difference to it. */
const FEW_CALLERS = 10_000

const subjects: readonly SubjectName[] = [OURS, 'rate-limiter-flexible', '@fastify/rate-limit', 'Map get and set']

/** P1: the least that a spend costs. */
export const p1: Benchmark<Sizes> = {
  id: 'P1',
  title: 'spend() of a resolved caller, two limits, callers in random order, clock included',
  async run({ sizes, progress }) {
    const { callers, rounds, spendsTraced } = sizes
    const room = { callers, maxMemoryMib: MAX_MEMORY_MIB, visited: callers, spends: callers, runs: RUNS }
    const series = await measureSpends(
      subjects.map((subject) => ({ ...room, subject })),
      rounds,
      progress,
    )
    progress(`the collector's trace of ${spendsTraced} spends`)
    const collections = await collectionsDuring(OURS, Math.min(callers, FEW_CALLERS), spendsTraced)
    return {
      series,
      targets: [
        timesAsFast(series, OURS, 'rate-limiter-flexible', 5),
        timesAsFast(series, OURS, '@fastify/rate-limit', 3),
        timesTheTime(series, OURS, 'Map get and set', 0.8),
        {
          what: `garbage collections during ${spendsTraced.toLocaleString('en')} spends (--trace-gc)`,
          value: collections,
          unit: '',
          atMost: 0,
        },
      ],
      notes: [
        `${callers.toLocaleString('en')} callers, every spend admitted. Time is processor time of the thread that spends, in processes of their own, in interleaved rounds.`,
        'rate-limiter-flexible: RateLimiterMemory, `await consume(key)`; @fastify/rate-limit: its local store, `cache` as large as the number of callers. Both count one limit, fastify-allowance two. Keys that come again are the same strings.',
      ],
    }
  },
}
