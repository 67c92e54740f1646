import { inspect } from 'node:util'

const MAX_LENGTH = 60

/** A value as an error message shows it: on one line, strings in double quotes, cut off after 60 characters. */
export function showValue(value: unknown): string {
  const text = typeof value === 'string' ? JSON.stringify(value.slice(0, MAX_LENGTH)) : inspectOnOneLine(value)
  const line = text.replace(/[\r\n\u2028\u2029]+\s*/g, ' ')
  const cut = line.length > MAX_LENGTH || (typeof value === 'string' && value.length > MAX_LENGTH)
  return cut ? `${line.slice(0, MAX_LENGTH - 1)}…` : line
}

function inspectOnOneLine(value: unknown): string {
  // customInspect off: a config object's own code must not decide what a start-up error says
  return inspect(value, { depth: 3, compact: true, breakLength: Infinity, customInspect: false, maxArrayLength: 10 })
}
