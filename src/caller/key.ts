import type { Caller } from './caller.ts'

/**
 * The key under which a caller's charges are recorded. Two normalized callers have equal keys exactly when they are
 * the same caller: a tag for the auth type, then each part led by its length in UTF-16 code units, so that no part can
 * pass for another's end (RATE-001).
 *
 * Keys are compared as JavaScript strings. A part may hold lone surrogates: whoever turns a key into bytes must keep
 * all 16 bits of each code unit, as UTF-8 encoders do not. A key names a caller and stays out of logs and messages.
 *
 * @param caller as `normalizeCaller` returns it
 */
export function callerKey(caller: Caller): string {
  switch (caller.type) {
    case 'api_key':
      return `k${part(caller.name)}`
    case 'jwt':
      return `j${part(caller.iss ?? '')}${part(caller.sub)}`
    case 'ip':
      return `a${part(caller.address)}`
  }
}

function part(text: string): string {
  return `${text.length}:${text}`
}
