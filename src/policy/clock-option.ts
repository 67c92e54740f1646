import { z } from 'zod'
import type { Clock } from '../clock/clock.ts'
import { mustBe } from './option-schema.ts'

/** The option `clock`: anything with a clock's methods. */
export function clockOption() {
  return z.custom<Clock>(isClock, { error: mustBe('an object with the methods now, wall and schedule') })
}

function isClock(value: unknown): boolean {
  const clock = value as Partial<Clock> | null | undefined
  return [clock?.now, clock?.wall, clock?.schedule].every((method) => typeof method === 'function')
}
