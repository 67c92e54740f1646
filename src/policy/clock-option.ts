import { z } from 'zod'
import type { Clock } from '../clock/clock.ts'
import { mustBe } from './option-schema.ts'
import { showValue } from './show-value.ts'

/** The option `clock`: anything with a clock's methods. Reads it once, to see that it counts in a bigint. */
export function clockOption() {
  return z
    .custom<Clock>(isClock, { error: mustBe('an object with the methods now, wall and schedule'), abort: true })
    .superRefine((clock, context) => {
      const found = wrongTime(clock)
      if (found === undefined) return
      const message = `must return a bigint of nanoseconds, ${found}`
      context.addIssue({ code: 'custom', path: ['now'], message })
    })
}

function isClock(value: unknown): boolean {
  const clock = value as Partial<Clock> | null | undefined
  return [clock?.now, clock?.wall, clock?.schedule].every((method) => typeof method === 'function')
}

function wrongTime(clock: Clock): string | undefined {
  try {
    const now: unknown = clock.now()
    return typeof now === 'bigint' ? undefined : `got ${showValue(now)}`
  } catch (error) {
    return `threw ${showValue(error instanceof Error ? error.message : error)}`
  }
}
