import { z } from 'zod'
import { type AuthType, authTypes } from '../caller/caller.ts'
import { type NamedKey, namedKeys, type Per } from './bound-options.ts'
import {
  chosenName,
  flag,
  functionOr,
  isFunction,
  isPlainObject,
  mustBe,
  oneOf,
  optionsObject,
} from './option-schema.ts'
import { showValue } from './show-value.ts'

/** Whom something is about, by identity. An empty list: whatever they have there. Not both are empty. */
export interface AppliesTo {
  readonly roles: readonly string[]
  readonly authTypes: readonly AuthType[]
}

/** What bounds and holds have in common: checked, with defaults filled in. */
export interface Target<Request> {
  readonly name: string
  readonly per: Per<Request>
  /** undefined: everybody. */
  readonly appliesTo: AppliesTo | ((request: Request) => boolean) | undefined
  /** Whether it can be known only after `identify` which key it is about, and whether it applies. */
  readonly needsIdentity: boolean
}

type AnyRequest = never

const byIdentity: ReadonlySet<unknown> = new Set<NamedKey>(['caller', 'user', 'token', 'organisation'])
const role = z.custom<string>((value) => typeof value === 'string' && value !== '', {
  error: mustBe('the name of a role'),
})

const whom = optionsObject({
  roles: z.array(role, { error: mustBe('a list of roles') }).default([]),
  authTypes: z.array(oneOf(authTypes), { error: mustBe('a list of auth types') }).default([]),
}).transform(({ roles, authTypes }): AppliesTo | undefined => {
  if (roles.length === 0 && authTypes.length === 0) return undefined
  return Object.freeze({ roles: Object.freeze(roles), authTypes: Object.freeze(authTypes) })
})

/** What the limits of `rateLimits` are called in denials. */
export const CALLER_BOUND = 'caller'

/** The keys of a target, to stand among others. What they must be together is for `checkTarget` to say. */
export const targetShape = {
  name: chosenName().refine((name) => name !== CALLER_BOUND, {
    error: 'must not be "caller", which the limits of rateLimits are called',
  }),
  per: functionOr<(request: AnyRequest) => string | undefined, NamedKey>(oneOf(namedKeys, 'a function of the request')),
  appliesTo: functionOr<(request: AnyRequest) => boolean, AppliesTo | undefined>(whom, {
    looksLikeIt: isPlainObject,
    allowed: 'an object with the keys roles, authTypes, or a function of the request',
  }).optional(),
  needsIdentity: flag().optional(),
}

type WrittenTarget = z.output<z.ZodObject<typeof targetShape>>
type Anything = { readonly [key in keyof WrittenTarget]?: WrittenTarget[key] | undefined }

/** What the keys of a target must be together. Runs also when they are wrong one by one, and then sees anything. */
export function checkTarget({ per, appliesTo, needsIdentity }: Anything, ctx: z.core.$RefinementCtx): void {
  if (typeof needsIdentity !== 'boolean') return
  const issue = (message: string) => ctx.addIssue({ code: 'custom', path: ['needsIdentity'], message })
  if (per === undefined) return
  if (!isFunction(per) && !isFunction(appliesTo)) {
    issue('stands only beside a function in per or appliesTo; of everything else it is known')
  } else if (!needsIdentity && goesByIdentity({ per, appliesTo })) {
    const why = byIdentity.has(per) ? `per ${showValue(per)} goes` : 'roles and authTypes go'
    issue(`must be true or left out, as ${why} by identity, got false`)
  }
}

/** The target alone, of keys that are all right. */
export function targetOf<Request>({ name, per, appliesTo, needsIdentity = false }: WrittenTarget): Target<Request> {
  return { name, per, appliesTo, needsIdentity: needsIdentity || goesByIdentity({ per, appliesTo }) } as Target<Request>
}

function goesByIdentity({ per, appliesTo }: Anything): boolean {
  return byIdentity.has(per) || isPlainObject(appliesTo)
}

/** Checks that no two of a list have one name. Expects anything. */
export function checkNames(list: unknown, ctx: z.core.$RefinementCtx): void {
  if (!Array.isArray(list)) return
  const firstWith = new Map<string, number>()
  for (const [index, entry] of list.entries()) {
    const name: unknown = entry?.name
    if (typeof name !== 'string') continue
    const first = firstWith.get(name)
    if (first === undefined) firstWith.set(name, index)
    else {
      const message = `must differ from the name of [${first}] in the same list, got ${showValue(name)} in both`
      ctx.addIssue({ code: 'custom', path: [index, 'name'], message })
    }
  }
}
