import t from 'tap'
import { retryAfterSeconds } from '../../src/rejection/retry-after.ts'

t.test('case 2: whole seconds, rounded up, never 0', async (t) => {
  const rows = [
    [0, 1],
    [200, 1],
    [1000, 1],
    [1001, 2],
    [2000, 2],
    [2001, 3],
    [12_000, 12],
  ] as const
  for (const [delayMs, seconds] of rows) t.equal(retryAfterSeconds(delayMs), seconds, `${delayMs} ms`)
})
