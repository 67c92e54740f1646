import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { L1Settings } from './config.ts'
import type { Submission } from './submission.ts'

/**
 * Posts a submission to the L1 and waits until it is final. Returns the hash of the transaction there. Throws only when
 * nothing is posted and nothing will be.
 */
export type Settle = (submission: Submission) => Promise<string>

/** A stand-in for the L1, which takes its time and fails now and then, for trying out what happens. */
export function createL1({ delaySeconds, failEvery }: L1Settings): Settle {
  let submissions = 0
  return async () => {
    submissions += 1
    const fails = failEvery > 0 && submissions % failEvery === 0
    await setTimeout(delaySeconds * 1000)
    if (fails) throw new Error('this one was to fail')
    return `0x${randomBytes(32).toString('hex')}`
  }
}
