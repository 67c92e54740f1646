import { z } from 'zod'
import type { AuthType, Caller } from '../caller/caller.ts'
import { callerKey } from '../caller/key.ts'
import { parseTrustedProxies } from '../caller/trusted-proxies.ts'
import type { Limit } from '../limit/limit.ts'
import { defaultLimits } from './default-limits.ts'
import { limitList } from './limit-list.ts'
import {
  always,
  flag,
  isPlainObject,
  mustBe,
  NAME,
  namedEntries,
  optionsObject,
  parseOptions,
  wholeNumber,
} from './option-schema.ts'
import { overrideCaller } from './override-caller.ts'
import { didYouMean } from './spelling.ts'

/** The limits of one category; where a list is undefined, less specific ones apply. */
export type CategoryLimits = { readonly [who in 'default' | AuthType]?: readonly Limit[] | undefined }

/** Limits for one caller, by category. */
export interface Override {
  /** As `normalizeCaller` returns it. */
  readonly caller: Caller
  readonly categories: ReadonlyMap<string, readonly Limit[]>
}

/** Checked rate limits with defaults filled in; shares nothing with the object that the user passed. */
export interface RateLimits {
  readonly enabled: boolean
  /** Checked, as they were written. */
  readonly trustedProxies: readonly string[]
  readonly maxMemoryMib: number
  /** At most `maxMemoryMib`, of which it is a part. */
  readonly boundsMemoryMib: number
  /** Only the categories that the options name, in the order written. */
  readonly categories: ReadonlyMap<string, CategoryLimits>
  /** At most one for each caller key. */
  readonly overrides: readonly Override[]
}

const MAX_MEMORY_MIB = 4096

const categoryName = z.custom<string>((name) => NAME.test(name as string), {
  error: 'a category name must have 1 to 64 characters of a-z, 0-9, "_", "." and "-"',
  abort: false,
})

const categoryLimits = optionsObject({
  default: limitList.optional(),
  api_key: limitList.optional(),
  jwt: limitList.optional(),
  ip: limitList.optional(),
}).transform((value): CategoryLimits => Object.freeze(value))

const trustedProxy = z
  .string({ error: mustBe('a network, an address or "unix", as a string') })
  .superRefine((entry, ctx) => {
    try {
      parseTrustedProxies([entry])
    } catch (error) {
      ctx.addIssue((error as Error).message.replace(/^trustedProxies\[0\]: /, ''))
    }
  })

const override = optionsObject({
  caller: overrideCaller,
  categories: namedEntries(z.string(), limitList, 'an object of lists of limits by category').refine(
    (categories) => categories.size > 0,
    { error: 'must name at least one category' },
  ),
}).transform((value): Override => Object.freeze(value))

const rateLimits = optionsObject({
  enabled: flag().default(true),
  trustedProxies: z.array(trustedProxy, { error: mustBe('a list of networks, addresses or "unix"') }).default([]),
  maxMemoryMib: wholeNumber(1, MAX_MEMORY_MIB).default(64),
  boundsMemoryMib: wholeNumber(0, MAX_MEMORY_MIB).default(0),
  categories: namedEntries(categoryName, categoryLimits, 'an object of limits by category').prefault({}),
  overrides: z.array(override, { error: mustBe('a list of overrides') }).default([]),
})
  .superRefine(checkBoundsMemory, always)
  .superRefine(checkOwnCategories, always)
  .superRefine(checkOverrides, always)
  .transform((value): RateLimits => {
    Object.freeze(value.trustedProxies)
    Object.freeze(value.overrides)
    return Object.freeze(value)
  })
  .prefault({})

/**
 * Checks rate limits, in camelCase or in the spelling of a config file, and fills in defaults; `undefined` gives all
 * defaults. Only reads `input`.
 *
 * @param path what the user calls the object: the start of each path in an error. Default `rateLimits`.
 * @throws AllowanceOptionsError listing every problem.
 */
export function parseRateLimits(input: unknown, path = 'rateLimits'): RateLimits {
  return parseOptions(rateLimits, input, path)
}

function checkBoundsMemory(
  { maxMemoryMib, boundsMemoryMib }: { maxMemoryMib: unknown; boundsMemoryMib: unknown },
  ctx: z.core.$RefinementCtx,
): void {
  if (!Number.isInteger(maxMemoryMib) || !Number.isInteger(boundsMemoryMib)) return
  if ((boundsMemoryMib as number) <= (maxMemoryMib as number)) return
  const message = `must be at most maxMemoryMib (${maxMemoryMib}), of which it is a part, got ${boundsMemoryMib}`
  ctx.addIssue({ code: 'custom', path: ['boundsMemoryMib'], message })
}

function checkOwnCategories({ categories }: { categories: unknown }, ctx: z.core.$RefinementCtx): void {
  if (!(categories instanceof Map)) return
  for (const [name, limits] of categories) {
    if (defaultLimits.has(name) || typeof limits !== 'object' || limits?.default !== undefined) continue
    const hint = didYouMean(name, defaultLimits.keys())
    const message = `is missing; a category that is not built in needs default limits${hint}`
    ctx.addIssue({ code: 'custom', path: ['categories', name, 'default'], message })
  }
}

function checkOverrides(value: { categories: unknown; overrides: unknown }, ctx: z.core.$RefinementCtx): void {
  if (!Array.isArray(value.overrides)) return
  const own = value.categories instanceof Map ? value.categories.keys() : []
  const declared = new Set<string>([...defaultLimits.keys(), ...own])
  const firstFor = new Map<string, number>()
  for (const [index, entry] of value.overrides.entries()) {
    if (!isPlainObject(entry)) continue
    const { caller, categories } = entry as Partial<Override>
    checkDeclared(categories, declared, index, ctx)
    const key = caller && callerKey(caller)
    if (key === undefined) continue
    const first = firstFor.get(key)
    if (first === undefined) firstFor.set(key, index)
    else {
      const message = `is the same caller as that of overrides[${first}]${whyTheSame(caller!)}`
      ctx.addIssue({ code: 'custom', path: ['overrides', index, 'caller'], message })
    }
  }
}

function checkDeclared(categories: unknown, declared: Set<string>, index: number, ctx: z.core.$RefinementCtx): void {
  if (!(categories instanceof Map)) return
  for (const name of categories.keys()) {
    if (declared.has(name)) continue
    const message = `is not a declared category${didYouMean(name, declared)}; declared: ${[...declared].join(', ')}`
    ctx.addIssue({ code: 'custom', path: ['overrides', index, 'categories', name], message })
  }
}

function whyTheSame(caller: Caller): string {
  if (caller.type === 'ip' && caller.address.includes(':')) return ' (an IPv6 address stands for its whole /64)'
  if (caller.type === 'jwt' && caller.iss === '') return ' (no iss and an empty iss are the same)'
  return ''
}
