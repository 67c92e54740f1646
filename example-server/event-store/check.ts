import { z } from 'zod'
import { bounds } from './bounds.ts'
import { Refused } from './refused.ts'

/**
 * What a body says, when it is what `schema` wants.
 * @throws {Refused} naming the first thing that is wrong, where, and what is allowed; never what was found.
 */
export function check<T>(schema: z.ZodType<T>, body: unknown, where = 'body'): T {
  const result = schema.safeParse(body)
  if (result.success) return result.data
  const { path, message } = inWords(result.error.issues[0]!)
  throw new Refused(400, `${path.reduce(pathTo, where)}: ${message}`)
}

/** Zod would name the key. */
function inWords(issue: z.core.$ZodIssue): { path: PropertyKey[]; message: string } {
  if (issue.code === 'unrecognized_keys') return { path: issue.path, message: 'has a key that is not allowed here' }
  return issue
}

function pathTo(path: string, key: PropertyKey): string {
  return typeof key === 'number' ? `${path}[${key}]` : `${path}.${String(key).slice(0, 64)}`
}

/** Bounded text, in bytes of UTF-8. */
export function text(most: number, pattern: RegExp, allowed: string) {
  const message = `must be ${allowed}, of at most ${most} bytes`
  return z
    .string({ error: message })
    .refine((value) => value.length <= most && Buffer.byteLength(value) <= most && pattern.test(value), message)
}

export const subjectText = text(
  bounds.subjectBytes,
  /^(?:\/|(?:\/[\w.~-]+)+)$/,
  'a subject such as "/books/42", of letters, digits, "-", ".", "_" and "~"',
)

export const typeText = text(
  bounds.typeBytes,
  /^[\w-]+(?:\.[\w-]+){2,}$/,
  'a type such as "com.example.book-acquired", of at least three parts',
)

export const idText = z.string({ error: 'must be the id of an event, a text' }).regex(/^(?:0|[1-9]\d{0,14})$/, {
  error: 'must be the id of an event, a whole number in a text',
})

/**
 * JSON that survives being written and read again: not too deep, and without numbers that JSON cannot hold.
 * Says what is wrong, or undefined. Does not recurse.
 */
export function jsonProblem(value: unknown): string | undefined {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > bounds.depth) return `must not be nested deeper than ${bounds.depth}`
    const next: unknown[] = []
    for (const item of level) {
      if (typeof item === 'number' && !Number.isFinite(item)) return 'must not have numbers beyond 1.8e308'
      if (typeof item !== 'object' || item === null) continue
      if (Object.hasOwn(item, '__proto__')) return 'must not have a key "__proto__"'
      for (const inner of Object.values(item)) next.push(inner)
    }
    level = next
  }
  return undefined
}
