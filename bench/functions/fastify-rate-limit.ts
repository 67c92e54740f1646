import { createRequire } from 'node:module'
import { normalizeIP } from '@fastify/rate-limit'
import { day, mustBeAdmitted } from './limits.ts'
import { type Named, namesOf, type Subject } from './subject.ts'

/** What @fastify/rate-limit counts in when it is not told otherwise. */
interface LocalStore {
  incr(
    key: string,
    done: (error: Error | null, found: { current: number }) => void,
    windowMs: number,
    max: number,
  ): void
}
type LocalStoreClass = new (continueExceeding: boolean, exponentialBackoff: boolean, cache: number) => LocalStore
const LocalStore: LocalStoreClass = createRequire(import.meta.url)('@fastify/rate-limit/store/LocalStore.js')

function check(error: Error | null, found: { current: number }): void {
  mustBeAdmitted(error === null && found.current <= day.count)
}

/** The local store of @fastify/rate-limit, its option `cache` as large as the number of callers. */
export function fastifyRateLimit(callers: number, named: Named): Subject {
  return storeOf(callers, named, (name) => name)
}

/** The same behind the plugin's key generator for addresses. */
export function fastifyRateLimitByAddress(callers: number, named: Named): Subject {
  return storeOf(callers, named, (address) => normalizeIP(address))
}

/** @param keyOf What the plugin makes of a name before it looks it up. */
function storeOf(callers: number, named: Named, keyOf: (name: string) => string): Subject {
  const store = new LocalStore(false, false, callers)
  const windowMs = day.windowSeconds * 1000
  return {
    fill(from, to) {
      for (let i = from; i < to; i++) store.incr(keyOf(named(i)), check, windowMs, day.count)
    },
    prepare(visits) {
      const names = namesOf(visits, named)
      return (from, to) => {
        for (let i = from; i < to; i++) store.incr(keyOf(names[i]!), check, windowMs, day.count)
      }
    },
  }
}
