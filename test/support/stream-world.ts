import { type Clock, createLimiter, type Limiter, type ManualClock, manualClock } from '../../src/index.ts'
import type { OpenStream, StreamDenial, StreamHost } from '../../src/stream/open-stream.ts'
import { defaultRentOf } from '../../src/stream/rent.ts'
import { Streams } from '../../src/stream/streams.ts'
import { apiKey, limitsOf, second } from './limiter-of.ts'

/** A denial as the stream was told of it. */
export class Denied extends Error {
  readonly category: string
  readonly retryDelayMs: number | null

  constructor(category: string, retryDelayMs: number | null) {
    super(`${category} ${retryDelayMs}`)
    this.category = category
    this.retryDelayMs = retryDelayMs
  }
}

/** An admitted spend: when, of what, how much. */
export type Spend = readonly [seconds: number, category: string, units: number]

const caller = apiKey('one caller')
const categories = { rent: 'stream_rent', request: 'request' } as const

/** The request of one stream: what it spends and how it fails is written down. */
export class RecordingHost implements StreamHost {
  readonly spends: Spend[] = []
  /** How often a spend was tried, admitted or denied. */
  tries = 0
  readonly failures: Error[] = []
  readonly reports: unknown[] = []
  readonly controller = new AbortController()
  readonly #limiter: Limiter
  readonly #clock: Clock

  constructor(limiter: Limiter, clock: Clock) {
    this.#limiter = limiter
    this.#clock = clock
  }

  get signal(): AbortSignal {
    return this.controller.signal
  }

  spend(kind: 'rent' | 'request', units: number, retryUnits: number): StreamDenial | undefined {
    this.tries++
    const category = categories[kind]
    if (this.#limiter.spend(caller, category, units).admitted) {
      this.spends.push([Number(this.#clock.now()) / Number(second), category, units])
      return undefined
    }
    const retryDelayMs = this.#limiter.retryDelay(caller, category, retryUnits)
    return { error: new Denied(category, retryDelayMs), retryDelayMs }
  }

  over(): void {}

  fail(error: Error): void {
    this.failures.push(error)
  }

  report(error: unknown): void {
    this.reports.push(error)
  }
}

export interface WorldOptions {
  /** In the spelling of the issue. Default: nothing is denied. */
  readonly limits?: Readonly<Record<'stream_rent' | 'request', string>>
  readonly periodSeconds?: number
  readonly rentOf?: (topics: number) => number
  readonly maxOpen?: number
  /** The clock of the streams, made of that of the limiter. Default: the same. */
  readonly clockOf?: (clock: ManualClock) => Clock
}

/** Streams of one caller, on a clock that stands still. */
export const streamWorld = (options: WorldOptions = {}) => {
  const clock = manualClock()
  const list = (category: 'stream_rent' | 'request') => ({
    default: options.limits === undefined ? [] : limitsOf(options.limits[category]),
  })
  const rateLimits = { maxMemoryMib: 1, categories: { stream_rent: list('stream_rent'), request: list('request') } }
  const limiter = createLimiter({ clock, rateLimits })
  const { periodSeconds = 60, rentOf = defaultRentOf, maxOpen = 10_000, clockOf = (same) => same } = options
  const streams = new Streams(clockOf(clock), { periodSeconds, rentOf, maxOpen }, () => new Error('full'))
  const open = (topics: number, host = new RecordingHost(limiter, clock)) => ({
    host,
    stream: streams.open(topics, host),
  })
  return {
    clock,
    streams,
    open,
    host: () => new RecordingHost(limiter, clock),
    spend: (category: string, units: number) => limiter.spend(caller, category, units),
    advance: (seconds: number) => clock.advance(BigInt(Math.round(seconds * 1000)) * 1_000_000n),
  }
}

/** Lets what is resolved run. */
export const settled = () => new Promise<void>((resolve) => setImmediate(resolve))

/** What a stream's end says. */
export const endOf = ({ signal }: OpenStream): unknown => (signal.aborted ? signal.reason : 'open')
