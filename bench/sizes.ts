/** How much of everything is measured. */
export interface Sizes {
  /** Of callers, in P1, P1b and P6. */
  readonly callers: number
  /** Rounds of P1, P1b and P6. */
  readonly rounds: number
  /** Spends without a collection, as is to be shown: a multiple of ten thousand, or of the callers where they are fewer. */
  readonly spendsTraced: number
  /** Numbers of callers in P5. */
  readonly curve: readonly number[]
  /** Of the callers of a point of the curve, so many are met again; the others have only filled what is met. */
  readonly curveVisited: number
  readonly curveRounds: number
  /** Requests of one measurement in P2, with a small message. */
  readonly requests: number
  /** Processes of servers in P2, for each version of HTTP. */
  readonly serverProcesses: number
  /** Measurements before, which do not count. */
  readonly requestWarmUps: number
  readonly requestRounds: number
  /** Requests of one measurement in P3, each of 64 KiB. */
  readonly largeRequests: number
  /** Measurements of each kind before, which do not count. */
  readonly largeWarmUps: number
  readonly largeRounds: number
  /** Seconds of flood, or of none, in each round of P3. */
  readonly floodSeconds: number
  readonly floodRounds: number
  /** Keys by which the memory of a key is measured in P4. */
  readonly keys: number
  /** Fresh callers of the flood in P4. */
  readonly freshCallers: number
  readonly streams: number
  readonly streamRounds: number
  /** Processes that import and register in P8. */
  readonly starts: number
}

export const fullSizes: Sizes = {
  callers: 100_000,
  rounds: 11,
  spendsTraced: 10_000_000,
  curve: [1000, 100_000, 1_000_000, 10_000_000],
  curveVisited: 300_000,
  curveRounds: 5,
  requests: 1000,
  serverProcesses: 3,
  requestWarmUps: 12,
  requestRounds: 16,
  largeRequests: 1200,
  largeWarmUps: 1,
  largeRounds: 6,
  floodSeconds: 1,
  floodRounds: 4,
  keys: 1_000_000,
  freshCallers: 10_000_000,
  streams: 100_000,
  streamRounds: 5,
  starts: 7,
}

/** So that it is seen whether everything runs; the figures say nothing. */
export const smokeSizes: Sizes = {
  callers: 100,
  rounds: 2,
  spendsTraced: 10_000,
  curve: [10, 100],
  curveVisited: 50,
  curveRounds: 2,
  requests: 20,
  serverProcesses: 1,
  requestWarmUps: 1,
  requestRounds: 2,
  largeRequests: 10,
  largeWarmUps: 1,
  largeRounds: 2,
  floodSeconds: 0.2,
  floodRounds: 1,
  keys: 2000,
  freshCallers: 5000,
  streams: 100,
  streamRounds: 2,
  starts: 1,
}
