// What the table of fastify-allowance takes, and how many callers it remembers for it.
import { manualClock } from '../../src/clock/manual-clock.ts'
import { createLimiter } from '../../src/limiter/limiter.ts'
import { answer } from '../processes/answer.ts'
import { grownBy, heldBytes } from './process-memory.ts'

export interface TableSetup {
  /** 1 … 3. */
  readonly limits: number
  readonly maxMemoryMib: number
  /** At most. */
  readonly callers: number
}

export interface TableFindings {
  /** For each slot, allocated. */
  readonly allocated: number
  /** Of the process, for each caller remembered when more came than there are slots. */
  readonly javascript: number
  readonly resident: number
  /** Allocated for each caller, when so many had come that 1 % were forgotten; null, when it never came to that. */
  readonly roomy: number | null
}

const windows = [60, 3600, 86_400]
const FORGOTTEN_SHARE = 0.01
/** So many callers as slots come until it is taken to be full. */
const FULL = 3

answer(({ limits, maxMemoryMib, callers }: TableSetup) => {
  const makeLimiter = (mib: number) =>
    createLimiter({
      // Nobody is earned back meanwhile: whoever is no longer remembered has been forgotten.
      clock: manualClock(),
      rateLimits: {
        maxMemoryMib: mib,
        categories: {
          request: { default: windows.slice(0, limits).map((windowSeconds) => ({ count: 1000, windowSeconds })) },
        },
      },
    })
  const spend = (limiter: ReturnType<typeof makeLimiter>, index: number) =>
    limiter.spend({ type: 'api_key', name: String(index) }, 'request', 1)
  const first = makeLimiter(1)
  for (let i = 0; i < Math.min(callers, 100_000); i++) spend(first, i)

  return (): TableFindings => {
    const before = heldBytes()
    const limiter = makeLimiter(maxMemoryMib)
    const { slots, bytes } = limiter.stats()
    const all = Math.min(callers, FULL * slots)
    let roomy: number | null = null
    for (let i = 0; i < all; i++) {
      spend(limiter, i)
      if (roomy === null && i % 1000 === 999 && limiter.stats().forgotten > FORGOTTEN_SHARE * i) roomy = bytes / i
    }
    const { javascript, resident } = grownBy(before, heldBytes())
    const remembered = all - limiter.stats().forgotten
    return {
      allocated: bytes / slots,
      javascript: javascript / remembered,
      resident: resident / remembered,
      roomy,
    }
  }
})
