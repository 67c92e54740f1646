import { freemem } from 'node:os'
import { type Measured, measureSpends } from './functions/measure-spends.ts'
import type { SubjectName } from './functions/subjects.ts'
import type { Benchmark, Series, Target } from './result.ts'
import type { Sizes } from './sizes.ts'
import { ratioOf } from './statistics.ts'

const OURS = 'fastify-allowance'

const subjects: readonly SubjectName[] = [OURS, 'rate-limiter-flexible', '@fastify/rate-limit', 'Map get and set']
/** Beyond this the peers only. */
const MANY = 1_000_000

/** What a caller takes at most in the processes of all subjects together, the names that the benchmark keeps included. */
const BYTES_PER_CALLER = 1200
const BYTES_PER_VISITED = 1500
const SPENDS = 100_000
const MIN_MEMORY_MIB = 64
/** Slots for every caller. */
const ROOM = 2
const BYTES_PER_SLOT = 40

/** P5: whether many callers make a spend slower. */
export const p5: Benchmark<Sizes> = {
  id: 'P5',
  title: 'spend() as the number of callers grows',
  async run({ sizes, progress }) {
    const { curve, curveVisited, curveRounds } = sizes
    const points = curve.filter((callers) => fits(callers, curveVisited))
    const measured = points.flatMap((callers) =>
      (callers > MANY ? subjects.slice(0, -1) : subjects).map((subject): Measured => {
        const visited = Math.min(callers, curveVisited)
        const spends = Math.min(SPENDS, Math.max(curveVisited, callers))
        const maxMemoryMib = Math.max(MIN_MEMORY_MIB, Math.ceil((callers * BYTES_PER_SLOT * ROOM) / 2 ** 20))
        return { subject, x: callers, callers, visited, spends, runs: 1, maxMemoryMib }
      }),
    )
    const series = await measureSpends(measured, curveRounds, progress)
    return {
      series,
      targets: growth(series, points),
      notes: [
        `Spends of up to ${curveVisited.toLocaleString('en')} of the callers, in random order, while all are remembered. \`maxMemoryMib\` is 64, and with more callers what gives each of them two slots.`,
        ...curve
          .filter((callers) => !points.includes(callers))
          .map((callers) => `${callers.toLocaleString('en')} callers: not measured, not enough memory is free.`),
      ],
    }
  },
}

function fits(callers: number, visited: number): boolean {
  return callers * BYTES_PER_CALLER + visited * BYTES_PER_VISITED < freemem()
}

/** From the first number of callers to the largest up to a million. */
function growth(series: readonly Series[], points: readonly number[]): Target[] {
  const from = points[0]!
  const to = points.findLast((callers) => callers <= MANY)!
  return subjects.map((subject) => ({
    what: `${subject}: time with ${to.toLocaleString('en')} callers, of that with ${from.toLocaleString('en')}`,
    ...ratioOf(at(series, subject, to), at(series, subject, from)),
    unit: '×',
    ...(subject === OURS && { atMost: 2 }),
  }))
}

function at(series: readonly Series[], name: string, x: number): readonly number[] {
  return series.find((one) => one.name === name && one.x === x)!.rounds
}
