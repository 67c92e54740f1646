import { createLimiter, type Limiter, type LimiterOptions, type ResolvedCaller } from '../../src/limiter/limiter.ts'
import type { BoundOptions } from '../../src/policy/bound-options.ts'
import { day, forEverybody, minute, mustBeAdmitted } from './limits.ts'
import { addressName, type Named, namesOf, type Subject } from './subject.ts'

const limits = [minute, day]

function limiterOf(maxMemoryMib: number, bounds: LimiterOptions['bounds'] = []) {
  return createLimiter({ rateLimits: { maxMemoryMib, categories: { request: { default: limits } } }, bounds })
}

/** Spends of callers that were resolved before. */
export function allowanceResolved(maxMemoryMib: number, named: Named): Subject {
  const limiter = limiterOf(maxMemoryMib)
  return resolvedBy(limiter, (index) => limiter.resolve({ type: 'api_key', name: named(index) }))
}

const threeBounds: readonly BoundOptions<unknown>[] = [
  { name: 'address', per: 'address', limits },
  { name: 'everyone', per: 'everyone', limits: forEverybody },
]

/** The same under two bounds more: by address, and for everyone together. */
export function allowanceBounded(maxMemoryMib: number, named: Named): Subject {
  const limiter = limiterOf(maxMemoryMib, threeBounds)
  return resolvedBy(limiter, (index) =>
    limiter.resolve({ type: 'api_key', name: named(index) }, { address: addressName(index) }),
  )
}

function resolvedBy(limiter: Limiter, resolve: (index: number) => ResolvedCaller, cost = (_: number) => 1): Subject {
  return {
    fill(from, to) {
      for (let i = from; i < to; i++) mustBeAdmitted(limiter.spend(resolve(i), 'request', 1).admitted)
    },
    prepare(visits) {
      // In memory they lie in the order of their numbers, as they would where they came one by one, not in that of the visits.
      const known = new Map<number, ResolvedCaller>()
      for (const index of visits.toSorted()) if (!known.has(index)) known.set(index, resolve(index))
      const callers = Array.from(visits, (index) => known.get(index)!)
      return (from, to) => {
        for (let i = from; i < to; i++) mustBeAdmitted(limiter.spend(callers[i]!, 'request', cost(i)).admitted)
      }
    },
  }
}

/** Spends of callers that were resolved before, whose costs change from one to the next. */
export function allowanceOfAnyCost(maxMemoryMib: number, named: Named): Subject {
  const limiter = limiterOf(maxMemoryMib)
  const resolve = (index: number) => limiter.resolve({ type: 'api_key', name: named(index) })
  return resolvedBy(limiter, resolve, (i) => 1 + (i % 3))
}

/** Spends of API keys by their names. */
export function allowanceByKey(maxMemoryMib: number, named: Named): Subject {
  const limiter = limiterOf(maxMemoryMib)
  const spend = (name: string) => mustBeAdmitted(limiter.spend({ type: 'api_key', name }, 'request', 1).admitted)
  return {
    fill(from, to) {
      for (let i = from; i < to; i++) spend(named(i))
    },
    prepare(visits) {
      const names = namesOf(visits, named)
      return (from, to) => {
        for (let i = from; i < to; i++) spend(names[i]!)
      }
    },
  }
}

/** Spends of addresses. */
export function allowanceByAddress(maxMemoryMib: number, named: Named): Subject {
  const limiter = limiterOf(maxMemoryMib)
  const spend = (address: string) => mustBeAdmitted(limiter.spend({ type: 'ip', address }, 'request', 1).admitted)
  return {
    fill(from, to) {
      for (let i = from; i < to; i++) spend(named(i))
    },
    prepare(visits) {
      const addresses = namesOf(visits, named)
      return (from, to) => {
        for (let i = from; i < to; i++) spend(addresses[i]!)
      }
    },
  }
}
