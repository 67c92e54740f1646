import type { DescMethod, DescService } from '@bufbuild/protobuf'
import { z } from 'zod'
import { mustBe, optionsObject, parseOptions } from '../policy/option-schema.ts'
import { AllowanceOptionsError, type OptionProblem } from '../policy/options-error.ts'
import { didYouMean } from '../policy/spelling.ts'
import type { Charge, RpcCharges } from './charge.ts'
import { chargeProblem } from './check-charge.ts'
import { rpcName } from './rpc-plan.ts'

/** One entry of the plugin option `charges`. An entry for a method stands above one for its whole service. */
export type ChargesOptionEntry =
  | { readonly method: DescMethod; readonly free: true }
  | { readonly method: DescMethod; readonly charges: readonly Charge[] }
  | { readonly service: DescService; readonly free: true }

/** What the option declares. RPCs are found by name, whichever copy of the generated code a descriptor comes from. */
export interface DeclaredCharges {
  /** What is declared for an RPC, to be given to `planRpc`. */
  of(method: DescMethod): RpcCharges | undefined
  /** @throws AllowanceOptionsError listing every entry that is about none of these RPCs: it was meant for another. */
  checkRegistered(methods: readonly DescMethod[]): void
}

/**
 * Checks the plugin option `charges`, a list of {@link ChargesOptionEntry} for services whose .proto one does not own.
 * It is copied; undefined is an empty list.
 *
 * @param categories The names of all categories.
 * @throws AllowanceOptionsError listing every problem with its place, such as `charges[2].method`, the value and what is
 * allowed: unknown keys, what is no descriptor, a method or service given twice, charges that cannot be meant, unknown
 * categories.
 */
export function parseChargesOption(option: unknown, categories: readonly string[]): DeclaredCharges {
  const entries = parseOptions(entryList, option === undefined ? [] : option, 'charges')
  throwIfAny(entries.flatMap((entry, index) => unknownCategories(entry, `charges[${index}]`, categories)))
  // The name of a service has no slash and that of an RPC has one, so that both can stand in one map.
  const declared = new Map<string, RpcCharges>()
  for (const entry of entries) {
    declared.set(nameOf(entry), 'free' in entry ? { free: true } : { charges: entry.charges })
  }
  return {
    of: (method) => declared.get(rpcName(method)) ?? declared.get(method.parent.typeName),
    checkRegistered(methods) {
      const registered = new Set(methods.flatMap((method) => [rpcName(method), method.parent.typeName]))
      throwIfAny(entries.flatMap((entry, index) => neverRegistered(entry, `charges[${index}]`, registered)))
    },
  }
}

function unknownCategories(entry: ParsedEntry, path: string, categories: readonly string[]): OptionProblem[] {
  if ('free' in entry) return []
  return entry.charges.flatMap(({ category }, index) => {
    if (categories.includes(category)) return []
    const allowed = `a category of rateLimits${didYouMean(category, categories)}: ${categories.join(', ')}`
    return [{ path: `${path}.charges[${index}].category`, message: mustBe(allowed)({ input: category }) }]
  })
}

function neverRegistered(entry: ParsedEntry, path: string, registered: ReadonlySet<string>): OptionProblem[] {
  const name = nameOf(entry)
  if (registered.has(name)) return []
  const key = entry.subject.kind === 'rpc' ? 'method' : 'service'
  const message = `${name} is not registered through app.allowance.connect({ routes }); remove the entry, or register it`
  return [{ path: `${path}.${key}`, message }]
}

function throwIfAny([first, ...others]: readonly OptionProblem[]): void {
  if (first !== undefined) throw new AllowanceOptionsError([first, ...others])
}

type ParsedEntry = { readonly subject: DescMethod | DescService } & RpcCharges

const charge = optionsObject({
  // what the values may be is said once, for both ways to declare a charge
  category: z.unknown().optional(),
  count: z.unknown().optional(),
  atLeast: z.unknown().optional(),
  units: z.unknown().optional(),
  byHandler: z.unknown().optional(),
}).transform((value) => value as Charge)

const entry = optionsObject({
  method: descriptor<DescMethod>('rpc', 'the descriptor of a method, such as ElizaService.method.say').optional(),
  service: descriptor<DescService>('service', 'the descriptor of a service, such as ElizaService').optional(),
  free: z.literal(true, { error: mustBe('true; an RPC that is not free needs no entry') }).optional(),
  charges: z.array(charge, { error: mustBe('a list of charges') }).optional(),
}).transform(({ method, service, free, charges }, context): ParsedEntry => {
  const subject = method ?? service
  if (subject === undefined || (method !== undefined && service !== undefined)) {
    context.addIssue('must have exactly one of the keys method, service')
    return z.NEVER
  }
  if ((free === undefined) === (charges === undefined)) {
    context.addIssue('must have exactly one of the keys free, charges')
    return z.NEVER
  }
  if (charges === undefined) {
    return { subject, free: true }
  }
  if (subject.kind === 'service') {
    const message = 'cannot stand beside service: a service can only be free as a whole; give charges method by method'
    context.addIssue({ code: 'custom', path: ['charges'], message })
    return z.NEVER
  }
  for (const [index, given] of charges.entries()) {
    const problem = chargeProblem(given, subject.input, (key) => key)
    if (problem !== undefined) {
      context.addIssue({ code: 'custom', path: ['charges', index, problem.key], message: problem.message })
    }
  }
  return { subject, charges }
})

const entryList = z.array(entry, { error: mustBe('a list') }).superRefine((entries, context) => {
  const firstWith = new Map<string, number>()
  for (const [index, given] of entries.entries()) {
    // entries refused above are here too, as anything
    const name = given?.subject && nameOf(given)
    if (name === undefined) continue
    const first = firstWith.get(name) ?? index
    firstWith.set(name, first)
    if (first !== index) {
      const message = `${name} is declared already, at charges[${first}]; allowed: once`
      context.addIssue({ code: 'custom', path: [index, given.subject.kind === 'rpc' ? 'method' : 'service'], message })
    }
  }
})

function descriptor<Desc extends { readonly kind: string }>(kind: Desc['kind'], allowed: string) {
  const isDescriptor = (value: unknown) => typeof value === 'object' && (value as Desc | null)?.kind === kind
  return z.custom<Desc>(isDescriptor, { error: mustBe(allowed) })
}

function nameOf({ subject }: ParsedEntry): string {
  return subject.kind === 'rpc' ? rpcName(subject) : subject.typeName
}
