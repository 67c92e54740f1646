import { requestOf, unaryConnect } from './http/bodies.ts'
import { withFolder } from './http/folder.ts'
import { loadOn, mustBe, startServers } from './http/server.ts'
import { versionOf, versions } from './http/versions.ts'
import { withChildren } from './processes/child.ts'
import { interleave } from './processes/interleave.ts'
import type { Benchmark, Series, Target } from './result.ts'
import type { Sizes } from './sizes.ts'
import { ratioOf } from './statistics.ts'

const limiters = ['none', 'fastify-allowance', '@fastify/rate-limit'] as const
const BODY_BYTES = 100

/** P2: what an RPC costs the server that is admitted. */
export const p2: Benchmark<Sizes> = {
  id: 'P2',
  title: 'admitted unary RPC: processor time of the server for a request',
  async run({ sizes: { requests, serverProcesses, requestWarmUps, requestRounds }, progress }) {
    progress('starting servers')
    const processes = versions.flatMap((http2) =>
      Array.from({ length: serverProcesses }, (_, i) => rotated(limiters, i).map((limiter) => ({ limiter, http2 }))),
    )
    const starts = processes.map((setups) => () => startServers(setups))
    const figures = await withFolder((folder) =>
      withChildren(starts, async (children) => {
        const request = requestOf(unaryConnect, BODY_BYTES, folder)
        const measures = children.flatMap((servers, i) =>
          processes[i]!.map(({ http2 }, index) => async () => {
            const shape = http2 ? { connections: 2, streams: 8 } : { connections: 16, streams: 1 }
            const taken = await loadOn(servers, index, { http2, request, requests, ...shape })
            mustBe('admitted', taken, requests)
            return taken.cpuUs
          }),
        )
        // Until everything is compiled, which takes some ten thousand requests.
        for (let warm = 0; warm < requestWarmUps; warm++) for (const measure of measures) await measure()
        return interleave(requestRounds, measures, progress)
      }),
    )
    const series = versions.flatMap((http2) =>
      limiters.map((limiter) => ({
        name: nameOf(limiter, http2),
        unit: 'µs a request',
        rounds: processes
          .flat()
          .flatMap((one, i) => (one.limiter === limiter && one.http2 === http2 ? figures[i]! : [])),
      })),
    )
    return {
      series,
      targets: versions.flatMap((http2) => targets(series, http2)),
      notes: [
        `Connect's binary format, ${BODY_BYTES} bytes. User and system time of the whole process, garbage collection included. The three servers share a process, since two processes of the same server differ by more than what is to be shown, as do the first and the last server of a process: so there are ${serverProcesses} such processes for each version of HTTP, with another server first in each, and ${requestRounds} interleaved rounds of each; over all of them the ratios are taken. Everybody is one client address; @fastify/rate-limit has the options of its README's example, and sends its header fields.`,
      ],
    }
  },
}

function rotated<T>(list: readonly T[], by: number): T[] {
  return list.map((_, i) => list[(i + by) % list.length]!)
}

function targets(series: readonly Series[], http2: boolean): Target[] {
  const rounds = (limiter: string) => series.find(({ name }) => name === nameOf(limiter, http2))!.rounds
  const [none, ours, peer] = limiters.map(rounds) as [readonly number[], readonly number[], readonly number[]]
  const version = versionOf(http2)
  return [
    { what: `${version}: of the time without the plugin`, ...ratioOf(ours, none), unit: '×', atMost: 1.03 },
    { what: `${version}: of the time with @fastify/rate-limit`, ...ratioOf(ours, peer), unit: '×', atMost: 1 },
  ]
}

function nameOf(limiter: string, http2: boolean): string {
  return `${limiter}, ${versionOf(http2)}`
}
