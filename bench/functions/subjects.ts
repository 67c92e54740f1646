import { addressName, keyName, type Named, type Subject } from './subject.ts'

/** How large a subject must be. */
export interface Room {
  readonly callers: number
  readonly maxMemoryMib: number
}

/** What can be measured, each in a process of its own, into which nothing else is loaded. */
export interface Candidate {
  readonly names: Named
  /** @param named Its `names`, wherever they come from. */
  make(room: Room, named: Named): Promise<Subject>
}

const allowance = () => import('./allowance.ts')
const flexible = async (named: Named) => (await import('./rate-limiter-flexible.ts')).rateLimiterFlexible(named)
const rateLimit = () => import('./fastify-rate-limit.ts')

const candidates = {
  'fastify-allowance': {
    names: keyName,
    make: async ({ maxMemoryMib }, named) => (await allowance()).allowanceResolved(maxMemoryMib, named),
  },
  'fastify-allowance, three bounds': {
    names: keyName,
    make: async ({ maxMemoryMib }, named) => (await allowance()).allowanceBounded(maxMemoryMib, named),
  },
  'fastify-allowance, costs in turn': {
    names: keyName,
    make: async ({ maxMemoryMib }, named) => (await allowance()).allowanceOfAnyCost(maxMemoryMib, named),
  },
  'fastify-allowance, by API key': {
    names: keyName,
    make: async ({ maxMemoryMib }, named) => (await allowance()).allowanceByKey(maxMemoryMib, named),
  },
  'fastify-allowance, by address': {
    names: addressName,
    make: async ({ maxMemoryMib }, named) => (await allowance()).allowanceByAddress(maxMemoryMib, named),
  },
  'rate-limiter-flexible': { names: keyName, make: (_room, named) => flexible(named) },
  'rate-limiter-flexible, by address': { names: addressName, make: (_room, named) => flexible(named) },
  '@fastify/rate-limit': {
    names: keyName,
    make: async ({ callers }, named) => (await rateLimit()).fastifyRateLimit(callers, named),
  },
  '@fastify/rate-limit, by address': {
    names: addressName,
    make: async ({ callers }, named) => (await rateLimit()).fastifyRateLimitByAddress(callers, named),
  },
  'Map get and set': { names: keyName, make: async (_room, named) => (await import('./plain-map.ts')).plainMap(named) },
} satisfies Record<string, Candidate>

export type SubjectName = keyof typeof candidates

export function candidateOf(name: SubjectName): Candidate {
  return candidates[name]
}
