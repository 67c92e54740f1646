import type { FastifyBaseLogger } from 'fastify'
import { didYouMean } from '../policy/spelling.ts'

const ATTRIBUTES = ['user', 'token', 'organisation', 'roles']
const OF_CALLERS = ['type', 'name', 'iss', 'sub', 'address']

/** Checks how the first identity that `identify` returns spells what bounds go by: a bound would not see `role`. */
export class IdentitySpelling {
  #isChecked = false

  /** Warns by `log` of keys that are near to those that are read; says nothing of their values. */
  check(identity: object, log: FastifyBaseLogger): void {
    if (this.#isChecked) return
    this.#isChecked = true
    const absent = ATTRIBUTES.filter((key) => !Object.hasOwn(identity, key))
    const misspelt = Object.keys(identity)
      .filter((key) => ![...ATTRIBUTES, ...OF_CALLERS].includes(key))
      .map((key) => ({ key, hint: didYouMean(key, absent) }))
      .filter(({ hint }) => hint !== '')
      .map(({ key, hint }) => `"${key}"${hint}`)
    if (misspelt.length > 0) log.warn(`fastify-allowance: identify returned what is not read: ${misspelt.join(', ')}`)
  }
}
