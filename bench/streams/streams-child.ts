// What open streams cost the plugin, beside what Node and Connect hold for their requests.
import { manualClock } from '../../src/clock/manual-clock.ts'
import { createLimiter } from '../../src/limiter/limiter.ts'
import type { OpenStream, StreamHost } from '../../src/stream/open-stream.ts'
import { defaultRentOf } from '../../src/stream/rent.ts'
import { Streams } from '../../src/stream/streams.ts'
import { heldBytes } from '../memory/process-memory.ts'
import { answer } from '../processes/answer.ts'
import { threadNs } from '../processes/cpu.ts'

export interface StreamsSetup {
  readonly streams: number
  readonly periods: number
}

export interface StreamsFindings {
  /** Of an idle stream. */
  readonly bytes: number
  /** Processor time of the rent of all streams, for each period, ms: of streams that were opened at one moment, and evenly over a period. */
  readonly periodsMs: readonly number[]
  readonly spreadPeriodsMs: readonly number[]
  /** To open and to end one. */
  readonly openUs: number
  readonly endUs: number
}

const PERIOD_SECONDS = 60
const PERIOD_NS = BigInt(PERIOD_SECONDS) * 1_000_000_000n

answer(({ streams: count, periods }: StreamsSetup) => {
  const clock = manualClock()
  const limiter = createLimiter({ clock })
  const rent = limiter.categoryId('stream_rent')
  const full = () => new Error('full')
  const streams = new Streams(clock, { periodSeconds: PERIOD_SECONDS, rentOf: defaultRentOf, maxOpen: count }, full)

  /** As a request of Connect has it anyway: its caller and its signal. */
  const hosts = Array.from({ length: count }, (_, i): StreamHost => {
    const caller = limiter.resolve({ type: 'jwt', iss: 'https://id.example.com', sub: String(i) })
    return {
      signal: new AbortController().signal,
      spend(_category, units) {
        const denial = limiter.spendIn(caller, rent, units)
        if (denial !== undefined) throw new Error('denied: the limits are too low to measure')
        return undefined
      },
      over() {},
      fail() {},
      report() {},
    }
  })

  // Allocates the table, which is not the streams'.
  limiter.stats()

  const open: OpenStream[] = new Array(count)
  const openAll = (apartNs: bigint) => {
    for (let i = 0; i < count; i++) {
      open[i] = streams.open(1000, hosts[i]!)
      if (apartNs > 0n) clock.advance(apartNs)
    }
  }
  const endAll = () => {
    for (const stream of open) stream.end()
  }
  const period = () => clock.advance(PERIOD_NS)
  const payPeriods = () => Array.from({ length: periods }, () => timedNs(period) / 1e6)

  return (): StreamsFindings => {
    const before = heldBytes().javascript
    const opening = timedNs(() => openAll(0n))
    const bytes = (heldBytes().javascript - before) / count
    const periodsMs = payPeriods()
    const ending = timedNs(endAll)

    openAll(PERIOD_NS / BigInt(count))
    const spreadPeriodsMs = payPeriods()
    endAll()
    return { bytes, periodsMs, spreadPeriodsMs, openUs: opening / count / 1000, endUs: ending / count / 1000 }
  }
})

function timedNs(run: () => void): number {
  const before = threadNs()
  run()
  return threadNs() - before
}
