import fc from 'fast-check'
import t from 'tap'
import type { TimedLimit } from '../../src/limit/limit.ts'
import { millisecond } from '../support/limiter-of.ts'
import { kindContract, type Subject } from './kind-contract.ts'
import {
  blockedModel,
  earnedBackModel,
  epochModel,
  type Scale,
  slidingLogModel,
  slidingWindowModel,
  windowNs,
} from './kind-models.ts'

/** The limits of the documents, and those at the ends of the ranges. */
const named: Scale[] = [
  { count: 1, windowSeconds: 1 },
  { count: 3, windowSeconds: 1 },
  { count: 5, windowSeconds: 1 },
  { count: 1, windowSeconds: 600 },
  { count: 3, windowSeconds: 1800 },
  { count: 100, windowSeconds: 60 },
  { count: 1000, windowSeconds: 86_400 },
  { count: 1, windowSeconds: 8_640_000 },
]
const large: Scale[] = [
  { count: 1_000_000_000, windowSeconds: 1 },
  { count: 1_000_000_000, windowSeconds: 8_640_000 },
  { count: 999_999_937, windowSeconds: 8_639_999 },
]

const scalesUpTo = (maxCount: number, ...more: Scale[]): fc.Arbitrary<Scale> =>
  fc.oneof(
    fc.constantFrom(...named, ...more),
    fc.record({
      count: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: maxCount })),
      windowSeconds: fc.oneof(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 8_640_000 })),
    }),
  )

const timedSubject = (
  kind: NonNullable<TimedLimit['kind']>,
  model: Subject['model'],
  scales: Subject['scales'],
): Subject => ({ name: kind, scales, model, limit: (scale) => ({ ...scale, kind }), timed: true })

const anyScale = scalesUpTo(1_000_000_000, ...large)

kindContract(t, timedSubject('earned_back', earnedBackModel, anyScale), 600)
kindContract(t, timedSubject('sliding_window', slidingWindowModel, anyScale), 1000)
kindContract(t, timedSubject('sliding_log', slidingLogModel, scalesUpTo(2000)), 600)
kindContract(
  t,
  {
    name: 'epoch',
    scales: anyScale,
    model: epochModel,
    limit: (scale, world) => ({
      kind: 'epoch',
      count: scale.count,
      epoch: () => Number(world.nowNs / windowNs(scale)),
      nextEpochInMs: () => Number(windowNs(scale) - (world.nowNs % windowNs(scale))) / Number(millisecond),
    }),
    timed: false,
  },
  300,
)
kindContract(
  t,
  { name: 'blocked', scales: anyScale, model: blockedModel, limit: () => ({ kind: 'blocked' }), timed: true },
  50,
)
