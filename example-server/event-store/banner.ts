import type { Cpus } from './cpus.ts'
import { clientLimit, GLOBAL_PER_CPU, type LimitsConfig, STREAMS_PER_CLIENT, WRITE_UNITS } from './limits.ts'

export interface BannerOptions {
  url: string
  cpus: Cpus
  limits: LimitsConfig
  /** Shown in the examples: only ever the token that everybody knows. */
  demoToken?: string
  database?: string
}

/** What the server says when it has started: where it is, what is admitted, and what to try. */
export function banner({ url, cpus, limits, demoToken, database }: BannerOptions): string {
  const perSecond = clientLimit(limits)
  const client =
    perSecond === 0
      ? 'not limited'
      : `${perSecond} units per second and ${STREAMS_PER_CLIENT} open streams; a write costs ${WRITE_UNITS}, all else 1`
  const authorization = `-H 'Authorization: Bearer ${demoToken ?? '…'}'`
  const event = '{"source":"urn:demo","subject":"/books/42","type":"com.example.book-acquired","data":{"title":"2001"}}'
  return `
fastify-allowance event store

  HTTP     ${url}
  Events   ${database ?? 'in memory'}
  CPUs     ${cpus.count}, says the ${cpus.from}
  Client   ${client}
  Global   ${cpus.count * GLOBAL_PER_CPU} units per second with the API token, and as many without

Try it

  Open ${url} in a browser, or:

  curl -sSi ${url}/api/v1/ping
  curl -sSi ${authorization} --json '{"events":[${event}]}' ${url}/api/v1/write-events
  curl -sSN ${authorization} --json '{"subject":"/","options":{"recursive":true}}' ${url}/api/v1/observe-events

`
}
