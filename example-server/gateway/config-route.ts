import { isTable, type Report, unknownKeys } from '../config-values.ts'
import { nameOf, show, tablesOf } from './config-fields.ts'
import { parseRules } from './config-rules.ts'
import { type Inventory, readInventory } from './openapi.ts'
import { readTarget } from './request-path.ts'
import type { OperationRules, Rule } from './rules.ts'
import { windowSecondsOf } from './window.ts'

/** Where requests below a prefix go, and what bounds them. */
export interface RouteConfig {
  name: string
  /** `/`, or a path without a slash at its end. The longest that fits a request takes it. */
  prefix: string
  /** Its path stands in for the prefix. */
  upstream: URL
  /** How long the upstream may be silent. */
  timeoutMs: number
  rules: readonly Rule[]
  /** The name of its OpenAPI file. */
  openapi?: string
  inventory?: Inventory
  operations: readonly OperationRules[]
}

export interface RouteContext {
  /** Where OpenAPI files are. */
  folder: string
  /** What `upstream = "demo"` stands for. Default: nothing. */
  demoUpstream?: URL | undefined
}

const KEYS = ['name', 'prefix', 'upstream', 'timeout', 'rules', 'openapi', 'operations']
/** Of a route. Each may track ten thousand callers: whoever wants more wants a default for all, which is not to be had. */
const MOST_OPERATIONS = 100

/**
 * Reads a route, from the file or from an admin call.
 * @param path What its keys are called in messages; empty: nothing before them.
 */
export function parseRoute(
  value: unknown,
  path: string,
  context: RouteContext,
  report: Report,
): RouteConfig | undefined {
  if (!isTable(value)) {
    report(path || 'route', `must be a table, got ${show(value)}`)
    return undefined
  }
  let good = true
  const reportHere: Report = (at, problem) => {
    good = false
    report(at, problem)
  }
  const at = (key: string) => (path === '' ? key : `${path}.${key}`)
  unknownKeys(path, Object.fromEntries(Object.entries(value).filter(([key]) => !KEYS.includes(key))), KEYS, reportHere)
  const { openapi, timeout = 'PT30S' } = value
  const name = nameOf(value.name, at('name'), reportHere)
  const prefix = prefixOf(value.prefix, at('prefix'), reportHere)
  const upstream = upstreamOf(value.upstream, at('upstream'), context, reportHere)
  const timeoutSeconds = windowSecondsOf(timeout, at('timeout'), reportHere)
  const inventory =
    openapi === undefined ? undefined : readInventory(openapi, context.folder, at('openapi'), reportHere)
  const operations = parseOperations(value.operations, at('operations'), inventory, reportHere)
  const rules = parseRules(value.rules, at('rules'), reportHere)
  if (!good || name === undefined || prefix === undefined || upstream === undefined || timeoutSeconds === undefined) {
    return undefined
  }
  return {
    name,
    prefix,
    upstream,
    timeoutMs: timeoutSeconds * 1000,
    rules,
    operations,
    ...(inventory && { openapi: openapi as string, inventory }),
  }
}

function prefixOf(value: unknown, path: string, report: Report): string | undefined {
  if (typeof value === 'string' && value.length <= 200) {
    const target = readTarget(value)
    const plain = target?.path === value && target.compared === value
    if (plain && !value.startsWith('/-') && (value === '/' || !value.endsWith('/'))) return value
  }
  report(path, `must be a path such as "/orders", not below "/-", without a slash at its end, got ${show(value)}`)
  return undefined
}

function upstreamOf(value: unknown, path: string, { demoUpstream }: RouteContext, report: Report): URL | undefined {
  if (value === 'demo' && demoUpstream !== undefined) return demoUpstream
  const url = typeof value === 'string' ? URL.parse(value) : null
  if (url?.protocol === 'http:' || url?.protocol === 'https:') {
    const bare = url.username === '' && url.password === '' && url.search === '' && url.hash === ''
    if (bare && readTarget(url.pathname) !== undefined) return url
  }
  // It may carry a password.
  const found = typeof value === 'string' && value.includes('@') ? 'one with more' : show(value)
  report(path, `must be a URL of http or https with host, port and path only, got ${found}`)
  return undefined
}

function parseOperations(
  value: unknown,
  path: string,
  inventory: Inventory | undefined,
  report: Report,
): OperationRules[] {
  const seen = new Set<string>()
  return tablesOf(value, path, MOST_OPERATIONS, 'operations', report).flatMap(([entry, at]): OperationRules[] => {
    const { operation: name, rules: written, ...others } = entry
    unknownKeys(at, others, ['operation', 'rules'], report)
    const rules = parseRules(written, `${at}.rules`, report)
    if (rules.length === 0) report(`${at}.rules`, 'must be at least one rule, got none')
    const found = typeof name === 'string' ? inventory?.find(name) : undefined
    if (found === undefined) {
      const must = 'must be an operation of the OpenAPI file: its operationId, or such as "GET /orders/{id}"'
      report(`${at}.operation`, `${must}, got ${show(name)}`)
      return []
    }
    if (seen.has(found.signature)) report(`${at}.operation`, `must be named once, got ${show(name)} again`)
    seen.add(found.signature)
    return [{ operation: found.signature, rules }]
  })
}
