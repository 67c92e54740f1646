import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { createLimiter, ManualClock } from '../../src/index.ts'
import { type EarnedBackModel, type Limit, latestNs } from './earned-back-model.ts'
import { millisecond, second } from './limiter-of.ts'

/** One step of a random script: time passes, then a caller spends, and may wait out a denial. */
export interface Step {
  readonly advanceNs: bigint
  readonly caller: number
  readonly cost: number
  readonly waitOut: boolean
}

type Caller = Parameters<ReturnType<typeof createLimiter>['spend']>[0]

export const year = 365n * 24n * 3600n * second

const countArb = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 12 }) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 100_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 1_000_000_000 }) },
)

const limitArb = (windowSeconds: number): fc.Arbitrary<Limit> => countArb.map((count) => ({ count, windowSeconds }))

/** One to three limits on different windows of at most `maxWindowSeconds`. */
export const limitsArb = (maxWindowSeconds: number): fc.Arbitrary<Limit[]> =>
  fc
    .uniqueArray(
      fc.oneof(
        fc.constantFrom(1, 7, 60, 3600).filter((seconds) => seconds <= maxWindowSeconds),
        fc.integer({ min: 1, max: maxWindowSeconds }),
      ),
      { minLength: 1, maxLength: 3 },
    )
    .chain((windows) => fc.tuple(...windows.map((windowSeconds) => limitArb(windowSeconds))))

/** Costs around what the limits admit: nothing, little, just about a count, and up to `maxTimes` counts. */
export const costArb = (limits: readonly Limit[], maxTimes: number): fc.Arbitrary<number> => {
  const leastCount = Math.min(...limits.map((limit) => limit.count))
  const around = fc
    .tuple(fc.constantFrom(...limits), fc.integer({ min: -2, max: 2 }))
    .map(([limit, off]) => Math.max(0, limit.count + off))
  const most = Math.min(Number.MAX_SAFE_INTEGER, leastCount * maxTimes)
  return fc.oneof(
    { weight: 1, arbitrary: fc.constant(0) },
    { weight: 6, arbitrary: fc.integer({ min: 1, max: Math.max(1, Math.ceil(leastCount / 2)) }) },
    { weight: 4, arbitrary: around },
    { weight: 2, arbitrary: fc.integer({ min: 1, max: leastCount * 10 }) },
    { weight: 2, arbitrary: fc.maxSafeNat().map((n) => n % (most + 1)) },
    { weight: 1, arbitrary: fc.constant(most) },
  )
}

/** From nothing to years, often near the pace at which the limits earn back. */
export const advanceArb = (limits: readonly Limit[]): fc.Arbitrary<bigint> => {
  const unitNs = fc.constantFrom(...limits).map((limit) => (BigInt(limit.windowSeconds) * second) / BigInt(limit.count))
  const off = fc.bigInt({ min: -2n, max: 2n })
  return fc.oneof(
    { weight: 4, arbitrary: fc.constant(0n) },
    { weight: 2, arbitrary: fc.bigInt({ min: 0n, max: 3n }) },
    {
      weight: 4,
      arbitrary: fc
        .tuple(unitNs, fc.bigInt({ min: 0n, max: 5n }), off)
        .map(([u, k, o]) => (u * k + o < 0n ? 0n : u * k + o)),
    },
    { weight: 2, arbitrary: fc.bigInt({ min: 0n, max: 2n * millisecond }) },
    { weight: 2, arbitrary: fc.bigInt({ min: 0n, max: 3600n * second }) },
    { weight: 1, arbitrary: fc.bigInt({ min: 0n, max: 3n * year }) },
  )
}

export const scriptArb = (limits: readonly Limit[], maxTimes: number, callers: number): fc.Arbitrary<Step[]> =>
  fc.array(
    fc.record({
      advanceNs: advanceArb(limits),
      caller: fc.nat({ max: callers - 1 }),
      cost: costArb(limits, maxTimes),
      waitOut: fc.boolean(),
    }),
    { minLength: 1, maxLength: 25 },
  )

interface Stage {
  readonly limiter: ReturnType<typeof createLimiter>
  readonly clock: ManualClock
  readonly model: EarnedBackModel
  readonly limits: readonly Limit[]
  readonly callers: readonly Caller[]
  readonly category: string
  readonly startNs: bigint
}

/** Asks limiter and model the same, one after the other, and demands the same answers. */
export const act = (stage: Stage, callerIndex: number, cost: number): { admitted: boolean; retryDelayMs: number } => {
  const { limiter, clock, model, limits, category } = stage
  const caller = stage.callers[callerIndex]!
  const key = `${category} ${callerIndex}`
  const now = clock.now()
  const scene = `${cost} at ${now - stage.startNs} ns after the start by caller ${callerIndex}`
  const delay = limiter.retryDelay(caller, category, cost)
  assert.equal(delay, model.retryDelay(key, limits, cost, now), `retryDelay for ${scene}`)
  assert.deepEqual(limiter.remaining(caller, category), model.remaining(key, limits, now), `remaining before ${scene}`)
  const wanted = model.spend(key, limits, cost, now)
  const found = limiter.spend(caller, category, cost)
  assert.equal(found.admitted, wanted.admitted, `admitted, for ${scene}`)
  assert.equal(found.admitted, delay === 0, `retryDelay foretells ${scene}`)
  if (!found.admitted && !wanted.admitted) {
    const { denial } = found
    assert.deepEqual(
      { category: denial.category, limit: denial.limit, retryDelayMs: denial.retryDelayMs },
      { category, limit: wanted.limit, retryDelayMs: wanted.retryDelayMs },
      `denial of ${scene}`,
    )
  }
  assert.deepEqual(limiter.remaining(caller, category), model.remaining(key, limits, now), `remaining after ${scene}`)
  return { admitted: found.admitted, retryDelayMs: delay }
}

/** Plays a script. Time stops short of the documented bound: what lies beyond it has tests of its own. */
export const play = (stage: Stage, script: readonly Step[]): void => {
  const { clock, startNs } = stage
  const room = () => latestNs - millisecond - (clock.now() - startNs)
  for (const { advanceNs, caller, cost, waitOut } of script) {
    if (advanceNs <= room()) clock.advance(advanceNs)
    const { admitted, retryDelayMs } = act(stage, caller, cost)
    const waitNs = BigInt(retryDelayMs) * millisecond
    if (admitted || !waitOut || waitNs > room()) continue
    clock.advance(waitNs - millisecond)
    assert.equal(act(stage, caller, cost).admitted, false, 'RATE-024: 1 ms before the delay it is denied')
    clock.advance(millisecond)
    assert.equal(act(stage, caller, cost).admitted, true, 'RATE-024: at the delay it is admitted')
  }
}
