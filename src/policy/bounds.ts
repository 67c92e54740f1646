import { z } from 'zod'
import type { Limit } from '../limit/limit.ts'
import { limitList } from './limit-list.ts'
import { always, isPlainObject, mustBe, oneOf, optionsObject, parseOptions, wholeNumber } from './option-schema.ts'
import { showValue } from './show-value.ts'
import { didYouMean } from './spelling.ts'
import { checkNames, checkTarget, type Target, targetOf, targetShape } from './target.ts'

/** A bound: checked, with defaults filled in, frozen. Shares nothing with what was written but functions. */
export interface Bound<Request> extends Target<Request> {
  /** A declared one. */
  readonly category: string
  readonly limits: readonly Limit[]
  /** undefined: as many as the fixed table has room for; then all limits are earned back. */
  readonly maxKeys: number | undefined
  readonly overflow: 'forget' | 'share'
}

const MAX_KEYS = 1_000_000
/** How many keys are told apart where nothing says how many, and not as many as the fixed table has room for. */
export const DEFAULT_MAX_KEYS = 10_000

const bound = optionsObject({
  ...targetShape,
  category: z.string({ error: mustBe('the name of a category') }).default('request'),
  limits: limitList,
  maxKeys: wholeNumber(1, MAX_KEYS).optional(),
  overflow: oneOf(['forget', 'share']).optional(),
}).superRefine(checkBound, always)

type WrittenBound = z.output<typeof bound>

/** Schema of a list of bounds that count spends in these categories. Comes out frozen. */
export function boundsOption<Request>(categories: readonly string[]) {
  return z
    .array(bound, { error: mustBe('a list of bounds') })
    .superRefine(checkNames, always)
    .superRefine((bounds, ctx) => checkCategories(bounds, categories, ctx), always)
    .transform((bounds): readonly Bound<Request>[] => Object.freeze(bounds.map((one) => boundOf<Request>(one))))
}

/**
 * Checks a list of bounds and fills in defaults. Only reads `input`.
 * @param categories The names of all categories.
 * @param path What the user calls the list: the start of each path in an error.
 * @throws AllowanceOptionsError listing every problem.
 */
export function parseBounds<Request>(
  input: unknown,
  categories: readonly string[],
  path = 'bounds',
): readonly Bound<Request>[] {
  return parseOptions(boundsOption<Request>(categories), input, path)
}

function boundOf<Request>(written: WrittenBound): Bound<Request> {
  const { category, limits, overflow = 'forget' } = written
  return Object.freeze({ ...targetOf<Request>(written), category, limits, maxKeys: maxKeysOf(written), overflow })
}

function maxKeysOf({ per, maxKeys, limits }: WrittenBound): number | undefined {
  if (per === 'everyone') return 1
  return maxKeys ?? (limits.some(needsRecords) ? DEFAULT_MAX_KEYS : undefined)
}

/** Whether a limit is of a kind that the fixed table has no room for: one that is earned back has come without kind. */
export function needsRecords(limit: Limit | undefined): boolean {
  return limit?.kind !== undefined
}

// runs also when values are wrong, and then sees what was written
function checkBound(written: Partial<WrittenBound>, ctx: z.core.$RefinementCtx): void {
  if (!isPlainObject(written)) return
  checkTarget(written, ctx)
  const { per, limits, maxKeys, overflow } = written
  const issue = (key: keyof WrittenBound, message: string) => ctx.addIssue({ code: 'custom', path: [key], message })
  if (per === 'everyone') {
    for (const key of ['maxKeys', 'overflow'] as const) {
      if (written[key] !== undefined) issue(key, 'cannot stand beside per "everyone", which has one key')
    }
  } else if (overflow === 'share' && maxKeys === undefined && Array.isArray(limits) && !limits.some(needsRecords)) {
    issue('overflow', '"share" needs maxKeys, or a limit of another kind than "earned_back"')
  }
}

function checkCategories(bounds: unknown, categories: readonly string[], ctx: z.core.$RefinementCtx): void {
  if (!Array.isArray(bounds)) return
  for (const [index, entry] of bounds.entries()) {
    const category: unknown = entry?.category
    if (typeof category !== 'string' || categories.includes(category)) continue
    ctx.addIssue({ code: 'custom', path: [index, 'category'], message: notDeclared(category, categories) })
  }
}

/** Error text for a category that nobody declared. */
export function notDeclared(category: string, categories: readonly string[]): string {
  const hint = didYouMean(category, categories)
  return `must be a declared category, got ${showValue(category)}${hint}; declared: ${categories.join(', ')}`
}
