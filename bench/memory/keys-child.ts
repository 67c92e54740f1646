// What a peer holds for its keys.
import { candidateOf, type SubjectName } from '../functions/subjects.ts'
import { answer } from '../processes/answer.ts'
import { grownBy, heldBytes } from './process-memory.ts'

export interface KeysSetup {
  readonly subject: SubjectName
  readonly keys: number
}

/** Before what is measured, so that what is loaded and compiled on the way is there already. */
const FIRST = 1000

answer(async ({ subject, keys }: KeysSetup) => {
  const { names, make } = candidateOf(subject)
  const room = { callers: keys + FIRST, maxMemoryMib: 64 }
  await (await make(room, names)).fill(0, FIRST)
  const peer = await make(room, names)
  await peer.fill(0, FIRST)

  /** Bytes of a key. */
  return async () => {
    const before = heldBytes()
    await peer.fill(FIRST, FIRST + keys)
    const { javascript, resident } = grownBy(before, heldBytes())
    return { javascript: javascript / keys, resident: resident / keys }
  }
})
