// What open streams cost the plugin: `npm run bench:streams`. The bytes of one that is idle, beside what Node and Connect
// hold for its request, and the time for a period of rent of all of them.
import { parseArgs } from 'node:util'
import { createLimiter, manualClock } from '../src/index.ts'
import type { OpenStream, StreamHost } from '../src/stream/open-stream.ts'
import { defaultRentOf } from '../src/stream/rent.ts'
import { Streams } from '../src/stream/streams.ts'

const { values } = parseArgs({ options: { streams: { type: 'string', default: '100000' } } })
const count = Number(values.streams)
const PERIOD_SECONDS = 60

const collectGarbage = globalThis.gc
if (collectGarbage === undefined) throw new Error('run with node --expose-gc')

const clock = manualClock()
const limiter = createLimiter({ clock })
const rent = limiter.categoryId('stream_rent')
const streams = new Streams(
  clock,
  { periodSeconds: PERIOD_SECONDS, rentOf: defaultRentOf, maxOpen: count },
  () => new Error('full'),
)

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

const heap = () => {
  collectGarbage()
  collectGarbage()
  return process.memoryUsage().heapUsed
}

/** Milliseconds of processor time. */
const timed = (run: () => void): number => {
  const before = process.cpuUsage()
  run()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

const before = heap()
const open: OpenStream[] = new Array(count)
const opening = timed(() => {
  for (let i = 0; i < count; i++) open[i] = streams.open(1000, hosts[i]!)
})
const bytes = (heap() - before) / count

const periods = Array.from({ length: 5 }, () => timed(() => clock.advance(BigInt(PERIOD_SECONDS) * 1_000_000_000n)))
const period = periods.sort((a, b) => a - b)[2]!
const ending = timed(() => {
  for (const stream of open) stream.end()
})

console.log(`${count} open streams, Node ${process.version}
bytes for an idle stream:          ${bytes.toFixed(0)}
a period of rent for all, ms:      ${period.toFixed(1)} (median of 5; ${((period / PERIOD_SECONDS / 1000) * 100).toFixed(3)} % of a core at ${PERIOD_SECONDS} s)
µs to open one, to end one:        ${((opening * 1000) / count).toFixed(2)}, ${((ending * 1000) / count).toFixed(2)}`)
