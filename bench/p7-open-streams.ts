import { join } from 'node:path'
import { Child, withChildren } from './processes/child.ts'
import type { Benchmark, Target } from './result.ts'
import type { Sizes } from './sizes.ts'
import { medianOf } from './statistics.ts'
import type { StreamsFindings, StreamsSetup } from './streams/streams-child.ts'

const PERIOD_MS = 60_000
const program = join(import.meta.dirname, 'streams/streams-child.ts')

/** P7: streams that stay open. */
export const p7: Benchmark<Sizes> = {
  id: 'P7',
  title: 'open idle streams that pay rent each period',
  async run({ sizes: { streams, streamRounds }, progress }) {
    progress(`${streams} streams`)
    const setup: StreamsSetup = { streams, periods: streamRounds }
    const start = () => Child.start(program, setup, ['--expose-gc'])
    const { bytes, periodsMs, spreadPeriodsMs, openUs, endUs } = await withChildren([start], ([child]) =>
      child!.ask<StreamsFindings>('measure'),
    )
    return {
      series: [
        { name: 'rent of all streams for a period, opened at one moment', unit: 'ms', rounds: periodsMs },
        { name: 'rent of all streams for a period, opened evenly over it', unit: 'ms', rounds: spreadPeriodsMs },
        { name: 'memory of an idle stream', unit: 'bytes', rounds: [bytes] },
        { name: 'to open a stream', unit: 'µs', rounds: [openUs] },
        { name: 'to end a stream', unit: 'µs', rounds: [endUs] },
      ],
      targets: [
        shareOfCore('opened at one moment', streams, periodsMs),
        shareOfCore('opened evenly over the period', streams, spreadPeriodsMs),
      ],
      notes: [
        'Memory of the stream itself and of its place in the queue of rents, beside what Node, Connect and the plugin hold for its request.',
      ],
    }
  },
}

function shareOfCore(how: string, streams: number, periodsMs: readonly number[]): Target {
  return {
    what: `rent of ${streams.toLocaleString('en')} streams each 60 s, ${how}, of one core`,
    value: (medianOf(periodsMs) / PERIOD_MS) * 100,
    unit: ' %',
    atMost: 2,
  }
}
