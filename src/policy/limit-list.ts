import { z } from 'zod'
import type { Limit, TimedLimit } from '../limit/limit.ts'
import { MAX_COUNT, MAX_LIMITS, MAX_WINDOW_SECONDS } from '../limit/ranges.ts'
import { duration } from './duration.ts'
import { always, anyFunction, isPlainObject, mustBe, oneOf, optionsObject, wholeNumber } from './option-schema.ts'

const TIMED = ['kind', 'count', 'window', 'windowSeconds'] as const
const keysOf = {
  earned_back: TIMED,
  sliding_window: TIMED,
  sliding_log: TIMED,
  epoch: ['kind', 'count', 'epoch', 'nextEpochInMs'],
  blocked: ['kind'],
} as const

type Kind = keyof typeof keysOf
type Key = (typeof keysOf)[Kind][number]

const kinds = Object.keys(keysOf) as Kind[]
const allKeys = new Set(Object.values(keysOf).flat())
const count = wholeNumber(1, MAX_COUNT)
const windowSeconds = wholeNumber(1, MAX_WINDOW_SECONDS)
const epoch = anyFunction<() => number>('a function that returns the number of the epoch')

// Which keys a limit must and may have depends on its kind, and is checked below: here they are all optional.
const writtenLimit = optionsObject({
  kind: oneOf(kinds).optional(),
  count: count.optional(),
  window: duration(1, MAX_WINDOW_SECONDS).optional(),
  windowSeconds: windowSeconds.optional(),
  epoch: epoch.optional(),
  nextEpochInMs: anyFunction<() => number | null>('a function that returns milliseconds or null').optional(),
}).superRefine(checkKeys, always)

type WrittenLimit = z.output<typeof writtenLimit>

/** Schema of a list of limits: up to three, on different windows. Comes out frozen. */
export const limitList = z
  .array(writtenLimit, { error: mustBe(`a list of up to ${MAX_LIMITS} limits`) })
  .superRefine(checkList)
  .transform((limits): readonly Limit[] => Object.freeze(limits.map(limitOf)))

function limitOf(written: WrittenLimit): Limit {
  const { kind = 'earned_back', count, window, windowSeconds = window, epoch, nextEpochInMs } = written
  if (kind === 'blocked') return Object.freeze({ kind })
  if (kind === 'epoch')
    return Object.freeze({ kind, count: count!, epoch: epoch!, ...(nextEpochInMs && { nextEpochInMs }) })
  const timed: TimedLimit = { count: count!, windowSeconds: windowSeconds! }
  return Object.freeze(kind === 'earned_back' ? timed : { kind, ...timed })
}

// runs also when values are wrong, and then sees what was written
function checkKeys(written: WrittenLimit, ctx: z.core.$RefinementCtx): void {
  if (!isPlainObject(written)) return
  const kind = written.kind ?? 'earned_back'
  if (!kinds.includes(kind)) return
  const issue = (key: Key, message: string) => ctx.addIssue({ code: 'custom', path: [key], message })
  const needs = (key: Key, schema: z.ZodType) => {
    if (written[key] === undefined) issue(key, schema.safeParse(undefined).error!.issues[0]!.message)
  }
  for (const key of allKeys) {
    const own: readonly Key[] = keysOf[kind]
    if (written[key] === undefined || own.includes(key)) continue
    const beside = `cannot stand beside kind "${kind}", which has the keys ${own.join(', ')}`
    issue(key, written.kind === undefined ? 'needs kind "epoch"; without a kind a limit is "earned_back"' : beside)
  }
  if (kind === 'blocked') return
  needs('count', count)
  if (kind === 'epoch') needs('epoch', epoch)
  else if (written.window === undefined) needs('windowSeconds', windowSeconds)
  else if (written.windowSeconds !== undefined) issue('window', 'is the same as the window in seconds, write only one')
}

// runs also when single limits are wrong, and then sees what was written
function checkList(limits: readonly Partial<WrittenLimit>[], ctx: z.core.$RefinementCtx): void {
  if (limits.length > MAX_LIMITS) ctx.addIssue(`must be a list of up to ${MAX_LIMITS} limits, got ${limits.length}`)
  const firstWith = new Map<number, number>()
  for (const [index, entry] of limits.entries()) {
    const key = entry?.window === undefined ? 'windowSeconds' : 'window'
    const seconds = entry?.[key]
    if (seconds === undefined || !Number.isInteger(seconds)) continue
    const first = firstWith.get(seconds)
    if (first === undefined) firstWith.set(seconds, index)
    else {
      const message = `must differ from the window of [${first}] in the same list, got ${seconds} in both`
      ctx.addIssue({ code: 'custom', path: [index, key], message })
    }
  }
}
