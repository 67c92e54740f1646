import { dirname, resolve } from 'node:path'
import type { Report } from '../config-values.ts'
import { unknownKeys } from '../config-values.ts'
import { StartProblem } from '../problem.ts'
import { parseToml } from '../toml-file.ts'
import { listOf, tablesOf, wholeOf } from './config-fields.ts'
import { parseRoute, type RouteConfig } from './config-route.ts'
import { own, parseUsers, secretChecker } from './config-users.ts'
import type { User } from './directory.ts'

/** What the configuration file decides. */
export interface GatewayConfig {
  routes: readonly RouteConfig[]
  users: readonly User[]
  /** What `Authorization: Bearer` of an admin call carries. */
  adminToken?: string
  /** Addresses and networks whose `X-Forwarded-For` is believed. */
  trustedProxies: readonly string[]
  /** How many gateways run side by side, each with counters of its own. */
  nodes: number
  /** What the counters of all rules may take. */
  maxMemoryMib: number
  /** Where all this was read. */
  file: string
  /** Where the OpenAPI files are. */
  folder: string
  demoUpstream?: URL | undefined
}

const KEYS = ['routes', 'users', 'admin_token', 'trusted_proxies', 'nodes', 'max_memory_mib']

/** Whether a route of the file wants the upstream that the gateway starts for itself. */
export const wantsDemo = (text: string): boolean => /^\s*upstream\s*=\s*["']demo["']/m.test(text)

/**
 * Reads the text of a configuration file.
 * @param file Its path; OpenAPI files are in its folder.
 * @param demoUpstream What `upstream = "demo"` stands for. Default: nothing.
 * @throws {StartProblem} listing everything that is wrong in it. The networks are the plugin's to check.
 */
export function parseConfig(text: string, file: string, demoUpstream?: URL): GatewayConfig {
  const problems: string[] = []
  const report: Report = (path, problem) => problems.push(`${file}: ${path}: ${problem}`)
  const table = parseToml(text, file)
  const { routes, users, admin_token: adminToken, trusted_proxies: proxies, nodes = 1, max_memory_mib = 64 } = table
  unknownKeys('', Object.fromEntries(Object.entries(table).filter(([key]) => !KEYS.includes(key))), KEYS, report)
  const folder = dirname(resolve(file))
  const isSecret = secretChecker(report)
  const config: GatewayConfig = {
    routes: parseRoutes(routes, { folder, demoUpstream }, report),
    users: parseUsers(users, report, isSecret),
    ...(adminToken !== undefined && isSecret(adminToken, 'admin_token') && { adminToken }),
    trustedProxies: listOf(proxies, 'trusted_proxies', 1000, 'networks', report).flatMap(([network, at]) => {
      if (typeof network === 'string') return [network]
      report(at, 'must be an address or a network')
      return []
    }),
    nodes: wholeOf(nodes, 'nodes', 1, 1000, report) ?? 1,
    maxMemoryMib: wholeOf(max_memory_mib, 'max_memory_mib', 1, 4096, report) ?? 1,
    file,
    folder,
    demoUpstream,
  }
  if (problems.length > 0) throw new StartProblem(problems)
  return config
}

function parseRoutes(value: unknown, context: { folder: string; demoUpstream: URL | undefined }, report: Report) {
  const names = new Set<string>()
  const prefixes = new Set<string>()
  return tablesOf(value, 'routes', 1000, 'routes', report).flatMap(([entry, at]): RouteConfig[] => {
    const route = parseRoute(entry, at, context, report)
    own(names, 'route', route?.name, `${at}.name`, report)
    own(prefixes, 'route', route?.prefix, `${at}.prefix`, report)
    return route === undefined ? [] : [route]
  })
}
