import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
/** Collects what nothing holds any more. */
export const collectGarbage = runInNewContext('gc') as () => void

/** Bytes that are held after a full collection: the heap's, and those of array buffers. */
export const heldBytes = (): { heap: number; arrayBuffers: number } => {
  collectGarbage()
  collectGarbage()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return { heap: heapUsed, arrayBuffers }
}
