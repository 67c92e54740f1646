import { readFileSync, statSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import createRouter, { type HTTPMethod } from 'find-my-way'
import { parse } from 'yaml'
import { isTable, type Report, type Table } from '../config-values.ts'
import { show } from './config-fields.ts'

/** The operations of an OpenAPI file. */
export interface Inventory {
  /** Which operation has this `operationId`, or is written so: `GET /orders/{id}`. */
  find(name: string): Operation | undefined
  /** Which operation a request is for. HEAD is GET where the file says nothing of HEAD. */
  match(method: string, path: string): Operation | undefined
}

export interface Operation {
  /** `GET /orders/{id}` */
  readonly signature: string
  readonly operationId?: string
}

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']
const MOST_BYTES = 4 * 1024 * 1024
/** No request target is longer than the headers that Node reads. */
const LONGEST_SEGMENT = 16_384

/**
 * Reads an OpenAPI 3 file, JSON or YAML. Its paths are those below the prefix of the route; its `servers` are not read.
 * @param name Relative to the folder, and within it: whoever saves a route may not read other files by it.
 */
export function readInventory(name: unknown, folder: string, path: string, report: Report): Inventory | undefined {
  if (typeof name !== 'string' || isAbsolute(name) || !/^[\w-][\w. /-]{0,199}$/.test(name) || name.includes('..')) {
    report(path, `must be the name of a file in the folder of the configuration, got ${show(name)}`)
    return undefined
  }
  const must = 'must be an OpenAPI 3 file, in JSON or YAML'
  try {
    const file = join(folder, name)
    if (statSync(file).size > MOST_BYTES) throw new Unreadable(`more than ${MOST_BYTES} bytes`)
    return createInventory(pathsOf(parseText(readFileSync(file, 'utf8'))))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (!(error instanceof Unreadable) && code === undefined) throw error
    report(path, `${must}, got ${show(name)} (${error instanceof Unreadable ? error.message : code})`)
    return undefined
  }
}

/** Why a file is no inventory. */
class Unreadable extends Error {}

function parseText(text: string): unknown {
  try {
    // JSON is YAML too.
    return parse(text, { logLevel: 'error' })
  } catch (error) {
    const { linePos } = error as { linePos?: [{ line: number; col: number }] }
    throw new Unreadable(linePos ? `no YAML in line ${linePos[0].line}, column ${linePos[0].col}` : 'no YAML')
  }
}

function pathsOf(document: unknown): Table {
  if (!isTable(document)) throw new Unreadable('no object')
  const { openapi, paths = {} } = document
  if (typeof openapi !== 'string' || !/^3\.\d/.test(openapi)) throw new Unreadable('openapi is not 3.x')
  if (!isTable(paths)) throw new Unreadable('paths is no object')
  return paths
}

function createInventory(paths: Table): Inventory {
  const named = new Map<string, Operation>()
  const router = createRouter({ caseSensitive: true, ignoreTrailingSlash: true, maxParamLength: LONGEST_SEGMENT })
  for (const [path, item] of Object.entries(paths)) {
    if (!isTable(item)) throw new Unreadable(`paths: no object at ${show(path)}`)
    const pattern = patternOf(path)
    for (const method of METHODS) {
      const entry = item[method]
      if (entry === undefined) continue
      if (!isTable(entry)) throw new Unreadable(`paths: no operation at ${show(`${method} ${path}`)}`)
      const { operationId } = entry
      const signature = `${method.toUpperCase()} ${path}`
      const operation = { signature, ...(typeof operationId === 'string' && { operationId }) }
      for (const name of new Set([signature, operation.operationId ?? signature])) {
        if (named.has(name)) throw new Unreadable(`two operations are called ${show(name)}`)
        named.set(name, operation)
      }
      addRoute(router, method.toUpperCase() as HTTPMethod, pattern, operation)
    }
  }
  const match = (method: string, path: string) =>
    router.find(method as HTTPMethod, path)?.store as Operation | undefined
  return {
    find: (name) => named.get(name),
    match: (method, path) => match(method, path) ?? (method === 'HEAD' ? match('GET', path) : undefined),
  }
}

function addRoute(router: ReturnType<typeof createRouter>, method: HTTPMethod, pattern: string, operation: Operation) {
  try {
    router.on(method, pattern, () => {}, operation)
  } catch {
    throw new Unreadable(`paths: ${show(operation.signature)} is like another, or is not understood`)
  }
}

/** A path of OpenAPI as a pattern of find-my-way. */
function patternOf(path: string): string {
  if (!/^\/[^?#*\\]*$/.test(path)) throw new Unreadable(`paths: ${show(path)} is not understood`)
  let count = 0
  return path
    .split('/')
    .map((segment) => {
      const [before = '', after, ...more] = segment.split(/\{[^{}]+\}/)
      // Two in one segment would be slow to find in a long one.
      if (more.length > 0 || /[{}]/.test(before + after)) throw new Unreadable(`paths: ${show(path)} is not understood`)
      if (after === undefined) return literal(segment).replaceAll(':', '::')
      count += 1
      const pattern = `^${escapeRegExp(literal(before))}.+?${escapeRegExp(literal(after))}$`
      return before + after === '' ? `:p${count}` : `:p${count}(${pattern})`
    })
    .join('/')
}

/** As find-my-way sees it in a request, which it has decoded. */
function literal(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new Unreadable(`paths: ${show(text)} is not understood`)
  }
}

function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}
