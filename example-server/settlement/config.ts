import type { KeyObject } from 'node:crypto'
import { parseDuration } from '../../src/index.ts'
import { hide, isTable, join, type Report, type Table, unknownKeys } from '../config-values.ts'
import { StartProblem } from '../problem.ts'
import { parseToml, readConfigFile } from '../toml-file.ts'
import { readRateLimiting, show } from './config-rates.ts'
import { readPublicKey } from './public-key.ts'
import type { Rates } from './rates.ts'

/** A network that may settle. */
export interface Network {
  /** What its calls are signed with. */
  readonly publicKey: KeyObject
  readonly rates: Rates
}

/** What the built-in stand-in for the L1 does. */
export interface L1Settings {
  /** Seconds that a settlement takes. */
  readonly delaySeconds: number
  /** Which settlements fail: each one whose number is a multiple of this; 0: none. */
  readonly failEvery: number
}

/** What a configuration file decides. */
export interface SettlementConfig {
  /** By id: 0 … 2³² − 1. */
  readonly networks: ReadonlyMap<number, Network>
  readonly epochSeconds: number
  readonly l1: L1Settings
}

const MAX_NETWORK_ID = 2 ** 32 - 1
const MAX_EPOCH_SECONDS = 8_640_000
const DEFAULT_EPOCH = '1h'
/** The most settlements that are remembered, of all networks: they take 1.5 GiB. All else that a file can ask for takes less. */
const MAX_TOTAL = 50_000_000

/** @throws {StartProblem} listing everything that is wrong in the file, or why it cannot be read. */
export function loadConfig(file: string): SettlementConfig {
  return parseConfig(readConfigFile(file), file)
}

/** As `loadConfig`, for the text of a file that has been read. */
export function parseConfig(text: string, file: string): SettlementConfig {
  const problems: string[] = []
  const report: Report = (path, problem) => problems.push(`${path}: ${problem}`)
  const { 'rate-limiting': rateLimiting, networks, epoch, l1, ...others } = parseToml(text, file)
  unknownKeys('', others, ['rate-limiting', 'networks', 'epoch', 'l1'], report)
  const { rates, overrides } = readRateLimiting(rateLimiting, report)
  const keys = readNetworks(networks, report)
  for (const id of overrides.keys()) {
    if (!isTable(networks) || !Object.hasOwn(networks, id)) {
      report(
        join('rate-limiting.network', id),
        `must be one of networks, got a network without a key: [${join('networks', id)}]`,
      )
    }
  }
  const config: SettlementConfig = {
    networks: new Map(
      [...keys].map(([id, publicKey]) => [id, { publicKey, rates: { ...rates, ...overrides.get(String(id)) } }]),
    ),
    epochSeconds: readEpoch(epoch, report),
    l1: readL1(l1, report),
  }
  checkTotal(config, report)
  if (problems.length > 0) throw new StartProblem(problems.map((problem) => `${file}: ${problem}`))
  return config
}

function checkTotal({ networks }: SettlementConfig, report: Report): void {
  let total = 0
  for (const { rates } of networks.values()) {
    if (typeof rates.sendTx === 'object') total += rates.sendTx.maxPerInterval
  }
  if (total <= MAX_TOTAL) return
  report('rate-limiting', `the max-per-interval of all networks must be at most ${MAX_TOTAL} in sum, got ${total}`)
}

function readNetworks(value: unknown, report: Report): Map<number, KeyObject> {
  const keys = new Map<number, KeyObject>()
  const networks = tableOf(value, 'networks', report)
  if (isTable(value) && Object.keys(value).length === 0) report('networks', 'must have at least one network, got none')
  for (const [name, network] of Object.entries(networks)) {
    const path = join('networks', name)
    const id = Number(name)
    if (!/^(?:0|[1-9]\d{0,9})$/.test(name) || id > MAX_NETWORK_ID) {
      report(path, `the id of a network must be a whole number from 0 to ${MAX_NETWORK_ID}`)
    }
    const { 'public-key': key, ...rest } = tableOf(network, path, report)
    unknownKeys(path, rest, ['public-key'], report)
    if (!isTable(network)) continue
    const read = readPublicKey(key)
    if (typeof read === 'string') report(join(path, 'public-key'), read)
    else keys.set(id, read)
  }
  return keys
}

function readEpoch(value: unknown, report: Report): number {
  const { duration = DEFAULT_EPOCH, ...rest } = value === undefined ? {} : tableOf(value, 'epoch', report)
  unknownKeys('epoch', rest, ['duration'], report)
  return readSeconds(duration, 'epoch.duration', 1, MAX_EPOCH_SECONDS, report)
}

function readL1(value: unknown, report: Report): L1Settings {
  const { delay = 0, 'fail-every': failEvery = 0, ...rest } = value === undefined ? {} : tableOf(value, 'l1', report)
  unknownKeys('l1', rest, ['delay', 'fail-every'], report)
  const delaySeconds = readSeconds(delay, 'l1.delay', 0, 3600, report)
  if (!Number.isSafeInteger(failEvery) || (failEvery as number) < 0) {
    report('l1.fail-every', `must be a whole number from 0 (none fails), got ${show(failEvery)}`)
  }
  return { delaySeconds, failEvery: failEvery as number }
}

function readSeconds(value: unknown, path: string, min: number, max: number, report: Report): number {
  try {
    return parseDuration(value as string, { min, max })
  } catch (error) {
    report(path, (error as Error).message)
    return min
  }
}

function tableOf(value: unknown, path: string, report: Report): Table {
  if (isTable(value)) return value
  report(path, `must be a table, got ${hide(value)}`)
  return {}
}
