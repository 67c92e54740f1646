import { z } from 'zod'
import { AllowanceOptionsError, type OptionProblem } from './options-error.ts'
import { showValue } from './show-value.ts'
import { didYouMean, didYouMeanSeconds, snakeCase } from './spelling.ts'

/**
 * Checks options against a schema made of the builders below and returns them with defaults filled in. The input is
 * only read.
 *
 * @throws AllowanceOptionsError listing every problem found.
 */
export function parseOptions<T>(schema: z.ZodType<T>, input: unknown, path: string): T {
  const result = schema.safeParse(input)
  if (result.success) return result.data
  const problems = new Map<string, OptionProblem>()
  for (const issue of result.error.issues) {
    const problem = { path: writtenPath(input, path, issue.path), message: issue.message }
    problems.set(`${problem.path}: ${problem.message}`, problem)
  }
  throw new AllowanceOptionsError([...problems.values()] as [OptionProblem, ...OptionProblem[]])
}

/** Error text for a value that is not what it must be. */
export function mustBe(allowed: string): (issue: { readonly input?: unknown }) => string {
  return ({ input }) =>
    input === undefined ? `is missing; must be ${allowed}` : `must be ${allowed}, got ${showValue(input)}`
}

export function wholeNumber(min: number, max: number) {
  return z.custom<number>((value) => Number.isInteger(value) && (value as number) >= min && (value as number) <= max, {
    error: mustBe(`a whole number from ${min} to ${max}`),
    abort: false,
  })
}

/** One of a few words. `orElse`: what else may stand there, for the error text. */
export function oneOf<const Word extends string>(words: readonly Word[], ...orElse: string[]) {
  const choices = [...words.map((word) => `"${word}"`), ...orElse]
  const allowed = mustBe(`${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}`)
  return z.custom<Word>((value) => words.includes(value as Word), {
    error: (issue) => allowed(issue) + (typeof issue.input === 'string' ? didYouMean(issue.input, words) : ''),
    abort: false,
  })
}

/** Any function; what it is given and returns is for its user to check. */
export function anyFunction<Fn>(allowed: string) {
  return z.custom<Fn>(isFunction, { error: mustBe(allowed), abort: false })
}

/**
 * A function, or what else `asIs` says may stand there as it is, or what `schema` reads; what does not look like either is
 * refused as not what is `allowed`.
 */
export function functionOr<AsIs, Value>(
  schema: z.ZodType<Value>,
  other: {
    readonly allowed?: string
    readonly looksLikeIt?: (value: unknown) => boolean
    readonly asIs?: (value: unknown) => boolean
  } = {},
) {
  const { allowed = '', looksLikeIt = () => true, asIs = () => false } = other
  return z.unknown().transform((written, ctx): AsIs | Value => {
    if (isFunction(written) || asIs(written)) return written as AsIs
    if (!looksLikeIt(written)) {
      ctx.addIssue(mustBe(allowed)({ input: written }))
      return z.NEVER
    }
    const result = schema.safeParse(written)
    if (result.success) return result.data
    ctx.issues.push(...result.error.issues.map((issue) => ({ ...issue, code: 'custom' as const, input: written })))
    return z.NEVER
  })
}

export function isFunction(value: unknown): boolean {
  return typeof value === 'function'
}

/** 1 to 64 characters of `a-z`, `0-9`, `_`, `.` and `-`: what is sent to clients and used as a label in metrics. */
export const NAME = /^[a-z0-9_.-]{1,64}$/

/** A name that the user chose. */
export function chosenName() {
  return z.custom<string>((value) => typeof value === 'string' && NAME.test(value), {
    error: mustBe('a name of 1 to 64 characters of a-z, 0-9, "_", "." and "-"'),
    abort: false,
  })
}

// a check that expects anything: it runs also when parts are wrong, so that one start reports everything
export const always = { when: () => true }

export function flag() {
  return z.boolean({ error: mustBe('true or false') })
}

/**
 * An object with fixed keys, each accepted in camelCase and in snake_case. Refuses by name a key it does not know, and
 * a key that is there in both spellings.
 */
export function optionsObject<const Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const known = Object.keys(shape)
  const camelCaseOf = new Map(known.map((key) => [snakeCase(key), key]))
  const camelCase = (written: Record<string, unknown>) => {
    const renamed: Record<string, unknown> = Object.create(null)
    for (const key of Object.keys(written)) {
      const name = camelCaseOf.get(key) ?? key
      // both spellings: the snake_case one stays as it is, and is then refused as a key too many
      renamed[Object.hasOwn(written, name) ? key : name] = written[key]
    }
    return renamed
  }
  const strict = z.strictObject(shape, {
    error: (issue) => (issue.code === 'unrecognized_keys' ? unknownKeys(issue.keys, known) : undefined),
  })
  return z
    .custom<Record<string, unknown>>(isPlainObject, {
      error: mustBe(`an object with the keys ${known.join(', ')}`),
      abort: false,
    })
    .transform(camelCase)
    .pipe(strict)
}

/** An object whose keys are names that the user chose: they come out as the keys of a Map, and are never renamed. */
export function namedEntries<Value>(name: z.ZodType<string>, value: z.ZodType<Value>, allowed: string) {
  const entries = z.map(name, value) as unknown as z.ZodType<Map<string, Value>, Map<string, unknown>>
  return z
    .custom<Record<string, unknown>>(isPlainObject, { error: mustBe(allowed), abort: false })
    .transform((written) => new Map(Object.entries(written)))
    .pipe(entries)
}

/** Error text for keys that an object must not have, each by name. */
export function unknownKeys(keys: readonly string[], known: readonly string[]): string {
  const camelCaseOf = new Map(known.map((key) => [snakeCase(key), key]))
  const parts = keys.map((key) => {
    const twin = camelCaseOf.get(key)
    if (twin !== undefined)
      return `${showValue(key)} and ${showValue(twin)} are one key in two spellings, write only one`
    const hint =
      didYouMeanSeconds(key, key.includes('_') ? camelCaseOf.keys() : known) ||
      didYouMean(key, [...known, ...camelCaseOf.keys()])
    return `unknown key ${showValue(key)}${hint}`
  })
  const unknown = keys.filter((key) => !camelCaseOf.has(key))
  if (unknown.length > 0) {
    const list = unknown.some((key) => /[a-z]_[a-z]/.test(key)) ? [...camelCaseOf.keys()] : known
    parts.push(`known keys: ${list.join(', ')}`)
  }
  return parts.join('; ')
}

/** Object.prototype of another realm counts; class instances and Maps do not: their content would be lost silently. */
export function isPlainObject(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

function writtenPath(input: unknown, root: string, path: readonly PropertyKey[]): string {
  let text = root
  let at = input
  for (const segment of path) {
    const key = typeof segment === 'string' ? writtenKey(at, segment, root) : segment
    text += typeof key !== 'string' ? `[${String(key)}]` : /^[\w-]+$/.test(key) ? `.${key}` : `[${showValue(key)}]`
    at = (at as Record<PropertyKey, unknown> | undefined)?.[key]
  }
  return text
}

function writtenKey(holder: unknown, key: string, root: string): string {
  const own = (name: string) => typeof holder === 'object' && holder !== null && Object.hasOwn(holder, name)
  if (own(key)) return key
  // a key that is missing: spelled as the root is, `rate_limits` in a config file
  return own(snakeCase(key)) || root.includes('_') ? snakeCase(key) : key
}
