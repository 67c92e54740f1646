import { z } from 'zod'
import { MAX_COUNT, MAX_LIMITS, MAX_WINDOW_SECONDS } from '../limit/ranges.ts'
import { mustBe, optionsObject, wholeNumber } from './option-schema.ts'
import type { Limit } from './options.ts'

const limit = optionsObject({
  count: wholeNumber(1, MAX_COUNT),
  windowSeconds: wholeNumber(1, MAX_WINDOW_SECONDS),
}).transform((value): Limit => Object.freeze(value))

/** Schema of a list of limits: up to three, on different windows. Comes out frozen. */
export const limitList = z
  .array(limit, { error: mustBe(`a list of up to ${MAX_LIMITS} limits`) })
  .superRefine(checkList)
  .transform((limits): readonly Limit[] => Object.freeze(limits))

// runs also when single limits are wrong, and then sees what was written
function checkList(limits: readonly Partial<Limit>[], ctx: z.core.$RefinementCtx): void {
  if (limits.length > MAX_LIMITS) ctx.addIssue(`must be a list of up to ${MAX_LIMITS} limits, got ${limits.length}`)
  const firstWith = new Map<number, number>()
  for (const [index, entry] of limits.entries()) {
    const windowSeconds = entry?.windowSeconds
    if (windowSeconds === undefined || !Number.isInteger(windowSeconds)) continue
    const first = firstWith.get(windowSeconds)
    if (first === undefined) firstWith.set(windowSeconds, index)
    else {
      const message = `must differ from the window of [${first}] in the same list, got ${windowSeconds} in both`
      ctx.addIssue({ code: 'custom', path: [index, 'windowSeconds'], message })
    }
  }
}
