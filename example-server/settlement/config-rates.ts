import { parseDuration } from '../../src/index.ts'
import { isTable, join, type Report, type Table, unknownKeys } from '../config-values.ts'
import type { CertificateRate, Rates, TxRate } from './rates.ts'

/** The most settlements of an interval or epoch: each of an interval is remembered. */
const MAX_SETTLEMENTS = 100_000
/** 100 days. */
const MAX_INTERVAL_SECONDS = 8_640_000

/** The rates of `[rate-limiting]`, and of those networks that have some of their own. */
export interface RateLimiting {
  readonly rates: Rates
  readonly overrides: ReadonlyMap<string, Partial<Rates>>
}

/** Reads the table `rate-limiting`. What is not in it is unlimited. */
export function readRateLimiting(value: unknown, report: Report): RateLimiting {
  const path = 'rate-limiting'
  const table = value === undefined ? {} : tableOf(value, path, 'a table', report)
  const { network, ...own } = table
  const overrides = new Map<string, Partial<Rates>>()
  const networks = network === undefined ? {} : tableOf(network, join(path, 'network'), 'a table', report)
  for (const [id, rates] of Object.entries(networks)) {
    const at = join(join(path, 'network'), id)
    overrides.set(id, readRates(tableOf(rates, at, 'a table', report), at, [], report))
  }
  const { sendTx = 'unlimited', sendCertificate = 'unlimited' } = readRates(own, path, ['network'], report)
  return { rates: { sendTx, sendCertificate }, overrides }
}

function readRates(table: Table, path: string, others: string[], report: Report): Partial<Rates> {
  const { 'send-tx': tx, 'send-certificate': certificate, ...rest } = table
  unknownKeys(path, rest, ['send-tx', 'send-certificate', ...others], report)
  return {
    ...(tx !== undefined && { sendTx: readTxRate(tx, join(path, 'send-tx'), report) }),
    ...(certificate !== undefined && {
      sendCertificate: readCertificateRate(certificate, join(path, 'send-certificate'), report),
    }),
  }
}

function readTxRate(value: unknown, path: string, report: Report): TxRate {
  if (value === 'unlimited') return value
  const table = tableOf(value, path, UNLIMITED_OR_TABLE, report)
  if (table === NONE) return 'disabled'
  const { 'max-per-interval': max, 'interval-duration': duration, 'time-interval': interval, ...rest } = table
  unknownKeys(path, rest, ['max-per-interval', 'interval-duration', 'time-interval'], report)
  const maxPerInterval = readMax(max, join(path, 'max-per-interval'), report)
  const name = duration === undefined && interval !== undefined ? 'time-interval' : 'interval-duration'
  if (duration !== undefined && interval !== undefined) {
    report(path, 'must have interval-duration or time-interval, which are one key in two spellings, got both')
  }
  const written = duration ?? interval
  // Without settlements there is nothing that an interval would say.
  if (written === undefined && maxPerInterval === 0) return 'disabled'
  const intervalSeconds = readInterval(written, join(path, name), report)
  return maxPerInterval === 0 ? 'disabled' : { maxPerInterval, intervalSeconds }
}

function readCertificateRate(value: unknown, path: string, report: Report): CertificateRate {
  if (value === 'unlimited') return value
  const table = tableOf(value, path, UNLIMITED_OR_TABLE, report)
  if (table === NONE) return 'disabled'
  const { 'max-per-epoch': max, ...rest } = table
  unknownKeys(path, rest, ['max-per-epoch'], report)
  const maxPerEpoch = readMax(max, join(path, 'max-per-epoch'), report)
  return maxPerEpoch === 0 ? 'disabled' : { maxPerEpoch }
}

function readMax(value: unknown, path: string, report: Report): number {
  if (Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MAX_SETTLEMENTS) return value as number
  report(path, `must be a whole number from 0 (disabled) to ${MAX_SETTLEMENTS}, got ${show(value)}`)
  return 0
}

function readInterval(value: unknown, path: string, report: Report): number {
  try {
    return parseDuration(value as string, { max: MAX_INTERVAL_SECONDS })
  } catch (error) {
    report(
      path,
      value === undefined ? 'must be a duration such as "1h" or "15min", got nothing' : (error as Error).message,
    )
    return 1
  }
}

const UNLIMITED_OR_TABLE = '"unlimited" or a table'
const NONE: Table = Object.freeze({})

/** The value, or, where it is no table, `NONE`. */
function tableOf(value: unknown, path: string, allowed: string, report: Report): Table {
  if (isTable(value)) return value
  report(path, `must be ${allowed}, got ${show(value)}`)
  return NONE
}

/** Nothing in these tables is a secret. */
export function show(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (typeof value === 'string') return JSON.stringify(value)
  if (Array.isArray(value)) return 'an array'
  return isTable(value) ? 'a table' : String(value)
}
