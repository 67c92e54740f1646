import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** Bytes that are held after a full collection: the heap's, and those of array buffers. */
export const heldBytes = (): { heap: number; arrayBuffers: number } => {
  collectGarbage()
  collectGarbage()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return { heap: heapUsed, arrayBuffers }
}
