import type { DescMessage } from '@bufbuild/protobuf'
import { mustBe } from '../policy/option-schema.ts'
import type { Charge } from './charge.ts'
import { countPathFields } from './count-path-fields.ts'

/** What is wrong with a charge: the key of the charge that it is about, and what is allowed there. */
export type ChargeProblem = { readonly key: keyof Charge; readonly message: string }

const maxUint32 = 2 ** 32 - 1

/**
 * The first thing wrong with a charge on requests of this type, or undefined. Looks at values of any type, because
 * options from JavaScript come here as they were written.
 *
 * @param spell how keys are spelled where the charge was declared: `atLeast` or `at_least`.
 */
export function chargeProblem(
  charge: Charge,
  request: DescMessage,
  spell: (key: keyof Charge) => string,
): ChargeProblem | undefined {
  const { category, count, atLeast, units, byHandler } = charge
  if (typeof category !== 'string' || category === '') {
    return refusal('category', 'the name of a category', category)
  }
  if (byHandler !== undefined && typeof byHandler !== 'boolean') {
    return refusal('byHandler', 'true or false', byHandler)
  }
  const atLeastIsDefault = atLeast === undefined || atLeast === 0
  if (!atLeastIsDefault && !isWholeNumber(atLeast)) {
    return refusal('atLeast', `a whole number from 0 to ${maxUint32}`, atLeast)
  }
  if (units !== undefined && (units === 0 || !isWholeNumber(units))) {
    return refusal('units', `a whole number from 1 to ${maxUint32}`, units)
  }
  if (byHandler === true) {
    const beside = count !== undefined ? 'count' : !atLeastIsDefault ? 'atLeast' : units !== undefined ? 'units' : null
    const message = `cannot stand beside ${spell('byHandler')}: the handler says what its step costs`
    return beside === null ? undefined : { key: beside, message }
  }
  if (count === undefined) {
    const message = `needs ${spell('count')}; for a fixed cost use ${spell('units')}`
    return atLeastIsDefault ? undefined : { key: 'atLeast', message }
  }
  return countProblem(count, request)
}

function countProblem(count: unknown, request: DescMessage): ChargeProblem | undefined {
  if (typeof count !== 'string') {
    return refusal('count', `a count path in ${request.typeName}`, count)
  }
  try {
    countPathFields(request, count)
    return undefined
  } catch (error) {
    return { key: 'count', message: (error as Error).message }
  }
}

function isWholeNumber(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= maxUint32
}

function refusal(key: keyof Charge, allowed: string, value: unknown): ChargeProblem {
  return { key, message: mustBe(allowed)({ input: value }) }
}
