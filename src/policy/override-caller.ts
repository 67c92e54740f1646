import { z } from 'zod'
import { type AuthType, type Caller, normalizeCaller } from '../caller/caller.ts'
import { unknownKeys } from './option-schema.ts'
import { showValue } from './show-value.ts'

const fields: { readonly [type in AuthType]: readonly string[] } = {
  api_key: ['type', 'name'],
  jwt: ['type', 'iss', 'sub'],
  ip: ['type', 'address'],
}

/** Schema of the caller of an override. Comes out normalized; a key that its auth type does not have is refused. */
export const overrideCaller = z.unknown().transform((written, ctx): Caller => {
  let caller: Caller
  try {
    caller = normalizeCaller(written)
  } catch (error) {
    ctx.issues.push({ code: 'custom', input: written, ...located((error as Error).message, written) })
    return z.NEVER
  }
  const known = fields[caller.type]
  const unknown = Object.keys(written as object).filter((key) => !known.includes(key))
  // an `issuer` that is dropped silently would make this an override for somebody else
  if (unknown.length > 0) ctx.issues.push({ code: 'custom', input: written, message: unknownKeys(unknown, known) })
  return caller
})

// `caller.name: must be …` → its place below the caller, and what was found there, which the message leaves out
function located(text: string, written: unknown): { path: string[]; message: string } {
  const [, field, message = text] = /^caller(?:\.(\w+))?: (.*)$/s.exec(text) ?? []
  const found = field === undefined ? written : (written as Record<string, unknown>)[field]
  const without = message.replace(/, got .*$/s, '')
  const path = field === undefined ? [] : [field]
  return { path, message: found === undefined ? `is missing; ${without}` : `${without}, got ${showValue(found)}` }
}
