// A flood of callers that were never seen before.
import { createLimiter } from '../../src/limiter/limiter.ts'
import { answer } from '../processes/answer.ts'
import { grownBy, heldBytes } from './process-memory.ts'

export interface FloodSetup {
  readonly callers: number
}

/** V8 keeps the pages that it has used once: so they are looked at within the flood, each time after a collection. */
const PARTS = 10

answer(({ callers }: FloodSetup) => {
  const limiter = createLimiter()
  const flood = (from: number, to: number) => {
    for (let i = from; i < to; i++) limiter.spend({ type: 'api_key', name: `fresh-${i}` }, 'request', 1)
  }
  // As many as there are slots: memory that was never touched is not the process's yet.
  const first = Math.min(callers, limiter.stats().slots)
  flood(0, first)

  return () => {
    const part = callers / PARTS
    const held = Array.from({ length: PARTS }, (_, i) => {
      flood(first + i * part, first + (i + 1) * part)
      return heldBytes()
    })
    return { ...grownBy(held[0]!, held.at(-1)!), bytes: limiter.stats().bytes }
  }
})
