// A process in which one subject spends: it is filled with callers first, and times one run of spends when it is asked.
import { measure } from 'mitata'
import { answer } from '../processes/answer.ts'
import { threadNs } from '../processes/cpu.ts'
import { visitsOf } from '../random.ts'
import { candidateOf, type Room, type SubjectName } from './subjects.ts'

export interface SpendsSetup extends Room {
  readonly subject: SubjectName
  /** Of how many callers the spends are, of those that are there. */
  readonly visited: number
  /** How many spends are timed together. */
  readonly spends: number
  /** How many such runs a round is the mean of. */
  readonly runs: number
  /** Whether each round meets names that were never seen before as strings, as those of requests are. Default: the same strings. */
  readonly fresh?: boolean
}

answer(async (setup: SpendsSetup) => {
  const { callers, visited, spends, runs, fresh = false } = setup
  const { names, make } = candidateOf(setup.subject)
  // What comes again is the same string, whose hash is known and which a Map finds at once.
  const known = Array.from({ length: callers }, (_, index) => names(index))
  const subject = await make(setup, (index) => (fresh ? copyOf(known[index]!) : known[index]!))
  await subject.fill(0, callers)
  const visits = Math.max(visited, spends)
  // A caller in one run only, as long as there are enough of them: what one run has brought into the caches helps no other.
  const order = repeated(visitsOf(callers, visited), visits)
  let spend = subject.prepare(order)
  let at = 0
  const run = () => {
    const from = at
    at = from + 2 * spends <= visits ? from + spends : 0
    return spend(from, from + spends)
  }
  for (let warm = 0; warm < 3; warm++) await run()

  /** Nanoseconds for one spend. */
  return async (): Promise<number> => {
    if (fresh) spend = subject.prepare(order)
    const { avg } = await measure(run, {
      now: threadNs,
      gc: false,
      min_samples: runs,
      max_samples: runs,
      samples_threshold: runs,
      min_cpu_time: 0,
      batch_threshold: 0,
    })
    return avg / spends
  }
})

function repeated(visits: Uint32Array, length: number): Uint32Array {
  return Uint32Array.from({ length }, (_, i) => visits[i % visits.length]!)
}

/** The same text as another string, of which nothing is known. */
function copyOf(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1')
}
