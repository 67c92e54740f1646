/** What an option must be: in words, and as a test of a value that was given. */
export type Rule = readonly [allowed: string, test: (value: unknown) => boolean]

export const aFunction: Rule = ['a function', (value) => typeof value === 'function']

/** @throws TypeError that lists every option that breaks its rule, and every unknown one, with its path and value. */
export function checkOptions(options: object, rules: Readonly<Record<string, Rule>>): void {
  if (typeof options !== 'object' || options === null) {
    throw new TypeError(
      `options: must be an object with the keys ${Object.keys(rules).join(', ')}, got ${show(options)}`,
    )
  }
  const given = options as Readonly<Record<string, unknown>>
  const problems = Object.keys(given)
    .filter((key) => !Object.hasOwn(rules, key))
    .map((key) => `options.${key}: unknown key; known keys: ${Object.keys(rules).join(', ')}`)
  for (const [key, [allowed, test]] of Object.entries(rules)) {
    const value = given[key]
    if (value === undefined ? key !== 'domain' : test(value)) continue
    problems.push(`options.${key}: ${value === undefined ? 'is missing; ' : ''}must be ${allowed}, got ${show(value)}`)
  }
  if (problems.length > 0) throw new TypeError(problems.join('\n'))
}

/** A value as a message may show it. */
export function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}
