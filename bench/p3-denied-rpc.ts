import { requestOf, type Spoken, spoken, unaryConnect } from './http/bodies.ts'
import { ADMITTED_CALLER, CALLER_HEADER, DENIED_CALLER } from './http/callers.ts'
import { p99UnderFlood } from './http/flood.ts'
import { withFolder } from './http/folder.ts'
import { loadOn, mustBe, startServers, type Taken } from './http/server.ts'
import { versionOf, versions } from './http/versions.ts'
import { type Child, withChildren } from './processes/child.ts'
import { interleave } from './processes/interleave.ts'
import type { Benchmark, Context, Findings, Series, Target } from './result.ts'
import type { Sizes } from './sizes.ts'
import { medianOf, ratioOf } from './statistics.ts'

export const BODY_BYTES = 64 * 1024
const outcomes = ['admitted', 'denied'] as const

interface Case {
  readonly as: Spoken
  readonly http2: boolean
  readonly outcome: (typeof outcomes)[number]
}

const cases: readonly Case[] = versions.flatMap((http2) =>
  spoken
    .filter(({ overHttp1 }) => http2 || overHttp1)
    .flatMap((as) => outcomes.map((outcome) => ({ as, http2, outcome }))),
)

/** P3: what it costs to refuse. */
export const p3: Benchmark<Sizes> = {
  id: 'P3',
  title: 'denied RPC with a binary body of 64 KiB, beside the admitted one',
  run(context) {
    context.progress('starting servers')
    const starts = versions.map(
      (http2) => () => startServers([{ limiter: 'fastify-allowance', http2, byHeader: true }]),
    )
    return withFolder((folder) =>
      withChildren(starts, async (servers) => {
        const throughput = await compareThroughput(servers, folder, context)
        const flood = await compareLatency(servers, folder, throughput.series, context)
        return {
          series: [...throughput.series, ...flood.series],
          targets: [...throughput.targets, ...flood.targets],
          notes: [...throughput.notes, ...flood.notes],
        }
      }),
    )
  },
}

async function compareThroughput(servers: Child[], folder: string, context: Context<Sizes>): Promise<Findings> {
  const { largeRequests, largeWarmUps, largeRounds } = context.sizes
  const measures = cases.map(({ as, http2, outcome }) => async (): Promise<Taken> => {
    const request = requestOf(as, BODY_BYTES, folder)
    const headers = { [CALLER_HEADER]: (outcome === 'admitted' ? ADMITTED_CALLER : DENIED_CALLER).name }
    const shape = http2 ? { connections: 2, streams: 4 } : { connections: 8, streams: 1 }
    const server = servers[http2 ? 1 : 0]!
    const taken = await loadOn(server, 0, { http2, request, headers, requests: largeRequests, ...shape })
    mustBe(outcome, taken, largeRequests)
    return taken
  })
  // What comes first in a process takes longest.
  for (let times = 0; times < largeWarmUps; times++) for (const measure of measures) await measure()
  const taken = await interleave(largeRounds, measures, context.progress)

  const series = cases.flatMap((one, i): Series[] => [
    { name: nameOf(one), unit: 'requests a second', rounds: taken[i]!.map((each) => each.requestsPerSecond) },
    { name: nameOf(one), unit: 'µs of processor a request', rounds: taken[i]!.map((each) => each.cpuUs) },
  ])
  const targets = cases.flatMap((one, i): Target[] => {
    if (one.outcome === 'denied') return []
    const figures = (of: (each: Taken) => number) => ratioOf(taken[i + 1]!.map(of), taken[i]!.map(of))
    const what = `${one.as.name}, ${versionOf(one.http2)}`
    return [
      {
        what: `${what}: throughput of denied, of that of admitted`,
        ...figures((each) => each.requestsPerSecond),
        unit: '×',
        atLeast: 2,
      },
      { what: `${what}: processor time of denied, of that of admitted`, ...figures((each) => each.cpuUs), unit: '×' },
    ]
  })
  const notes = [
    'As many requests at a time as connections × streams: 8. The server takes all of one processor then, h2load a part of the other: it is the server that limits the throughput. That all were handled, or all denied, is checked by the handlers and by `onDenied`.',
  ]
  return { series, targets, notes }
}

/** Share of what the server can admit of Connect's large unary requests that the flood asks of it. */
const FLOOD_SHARE = 0.5

async function compareLatency(
  servers: Child[],
  folder: string,
  throughput: readonly Series[],
  { sizes, progress }: Context<Sizes>,
): Promise<Findings> {
  const series: Series[] = []
  const targets: Target[] = []
  for (const http2 of versions) {
    const version = versionOf(http2)
    const admitted = nameOf({ as: unaryConnect, http2, outcome: 'admitted' })
    const capacity = medianOf(throughput.find(({ name }) => name === admitted)!.rounds)
    const p99 = (flood: typeof DENIED_CALLER | typeof ADMITTED_CALLER | undefined) =>
      p99UnderFlood(servers[http2 ? 1 : 0]!, {
        http2,
        folder,
        seconds: sizes.floodSeconds,
        ...(flood && { flood: { caller: flood.name, requestsPerSecond: capacity * FLOOD_SHARE } }),
      })
    const measures = [() => p99(undefined), () => p99(DENIED_CALLER), () => p99(ADMITTED_CALLER)]
    const figures = await interleave(sizes.floodRounds, measures, (text) => progress(`flood, ${version}: ${text}`))
    const names = ['no flood', 'flood of denied', 'the same flood, admitted']
    const [quiet, denied, welcome] = figures as [number[], number[], number[]]
    series.push(...names.map((name, i) => ({ name: `${name}, ${version}`, unit: 'ms, p99', rounds: figures[i]! })))
    targets.push(
      {
        what: `${version}: p99 of others in a flood of denied, of that without`,
        ...ratioOf(denied, quiet),
        unit: '×',
        atMost: 1.5,
      },
      {
        what: `${version}: p99 of others in the same flood admitted, of that without`,
        ...ratioOf(welcome, quiet),
        unit: '×',
      },
    )
  }
  const notes = [
    'The flood is half as many requests as the server can admit, spread evenly over time and connections; server and load generators share the processors. "Not hurt" is taken to be a p99 of at most 1.5 times that without it. Over HTTP/2 most of what is left is the time in which V8 collects garbage: it does so the more often the more bytes of bodies are read, also at a server without a limiter. Over HTTP/1.1 fastify-allowance frees at once what it throws away; over HTTP/2, where several bodies share what was read at a time, it cannot.',
  ]
  return { series, targets, notes }
}

function nameOf({ as, http2, outcome }: Case): string {
  return `${as.name}, ${versionOf(http2)}, ${outcome}`
}
