import { requestOf, unaryConnect } from './http/bodies.ts'
import { withFolder } from './http/folder.ts'
import { loadOn, mustBe, startServer } from './http/server.ts'
import type { ServerSetup } from './http/server-child.ts'
import { withChildren } from './processes/child.ts'
import { interleave } from './processes/interleave.ts'
import type { Benchmark, Target } from './result.ts'
import type { Sizes } from './sizes.ts'
import { meanOf, ratioOfProcesses } from './statistics.ts'

const limiters = ['none', 'fastify-allowance', '@fastify/rate-limit'] as const
const BODY_BYTES = 100

const setups: readonly ServerSetup[] = [false, true].flatMap((http2) => limiters.map((limiter) => ({ limiter, http2 })))

/** P2: what an RPC costs the server that is admitted. */
export const p2: Benchmark<Sizes> = {
  id: 'P2',
  title: 'admitted unary RPC: processor time of the server for a request',
  async run({ sizes: { requests, servers: copies, requestWarmUps, requestRounds }, progress }) {
    progress('starting servers')
    const figures = await withFolder((folder) =>
      withChildren(
        Array.from({ length: copies }, () => setups.map((setup) => () => startServer(setup))).flat(),
        async (servers) => {
          const request = requestOf(unaryConnect, BODY_BYTES, folder)
          const measures = servers.map((server, i) => async () => {
            const { http2 } = setups[i % setups.length]!
            const shape = http2 ? { connections: 2, streams: 8 } : { connections: 16, streams: 1 }
            const taken = await loadOn(server, { http2, request, requests, ...shape })
            mustBe('admitted', taken, requests)
            return taken.cpuUs
          })
          // Until everything is compiled, which takes some ten thousand requests.
          for (let warm = 0; warm < requestWarmUps; warm++) for (const measure of measures) await measure()
          const taken = await interleave(requestRounds, measures, progress)
          return setups.map((_, i) => taken.filter((_, copy) => copy % setups.length === i))
        },
      ),
    )
    const series = setups.map((setup, i) => ({
      name: nameOf(setup),
      unit: 'µs a request',
      rounds: meanOf(figures[i]!),
    }))
    return {
      series,
      targets: ['HTTP/1.1', 'h2c'].flatMap((version) => targets(figures, version)),
      notes: [
        `Connect's binary format, ${BODY_BYTES} bytes. User and system time of the whole process, garbage collection included. Each figure is the mean of ${copies} processes, since two of the same server differ by more than what is to be shown. Intervals: bootstrap over processes and ${requestRounds} interleaved rounds. Everybody is one client address; @fastify/rate-limit has the options of its README's example, and sends its header fields.`,
      ],
    }
  },
}

/** @param figures Of each setup, for each of its processes, by round. */
function targets(figures: readonly (readonly (readonly number[])[])[], version: string): Target[] {
  const of = (limiter: string) => figures[setups.findIndex((setup) => nameOf(setup) === `${limiter}, ${version}`)]!
  const [none, ours, peer] = limiters.map(of) as [number[][], number[][], number[][]]
  return [
    { what: `${version}: of the time without the plugin`, ...ratioOfProcesses(ours, none), unit: '×', atMost: 1.03 },
    { what: `${version}: of the time with @fastify/rate-limit`, ...ratioOfProcesses(ours, peer), unit: '×', atMost: 1 },
  ]
}

function nameOf({ limiter, http2 }: ServerSetup): string {
  return `${limiter}, ${http2 ? 'h2c' : 'HTTP/1.1'}`
}
