import { timesAsFast } from './functions/compare.ts'
import { measureSpends } from './functions/measure-spends.ts'
import type { SubjectName } from './functions/subjects.ts'
import type { Benchmark } from './result.ts'
import type { Sizes } from './sizes.ts'

const MAX_MEMORY_MIB = 64
const RUNS = 1

const BY_KEY = 'fastify-allowance, by API key'
const BY_ADDRESS = 'fastify-allowance, by address'

const subjects: readonly SubjectName[] = [
  BY_KEY,
  'rate-limiter-flexible',
  '@fastify/rate-limit',
  BY_ADDRESS,
  'rate-limiter-flexible, by address',
  '@fastify/rate-limit, by address',
]

/** P1b: a spend of a caller that nothing is known of. */
export const p1b: Benchmark<Sizes> = {
  id: 'P1b',
  title: 'the same from the raw credential or address to the decision',
  async run({ sizes, progress }) {
    const { callers, rounds } = sizes
    const room = { callers, maxMemoryMib: MAX_MEMORY_MIB, visited: callers, spends: callers, runs: RUNS, fresh: true }
    const series = await measureSpends(
      subjects.map((subject) => ({ ...room, subject })),
      rounds,
      progress,
    )
    return {
      series,
      targets: [
        timesAsFast(series, BY_KEY, 'rate-limiter-flexible', 3),
        timesAsFast(series, BY_KEY, '@fastify/rate-limit', 1.8),
        timesAsFast(series, BY_ADDRESS, 'rate-limiter-flexible, by address', 3),
        timesAsFast(series, BY_ADDRESS, '@fastify/rate-limit, by address', 1.8),
      ],
      notes: [
        'Each name is a string of its own every time, as those that requests bring are: nobody has its hash yet. Addresses are IPv4 (with IPv6, the key generator of @fastify/rate-limit costs it more). rate-limiter-flexible takes a key as it is; @fastify/rate-limit takes addresses through its own normalizeIP.',
      ],
    }
  },
}
