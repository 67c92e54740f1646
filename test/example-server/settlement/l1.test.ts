import t from 'tap'
import { createL1 } from '../../../example-server/settlement/l1.ts'
import { readSubmission } from '../../../example-server/settlement/submission.ts'

const SUBMISSION = readSubmission('sendTx', [1, '0x00', `0x${'00'.repeat(64)}`])

/** What becomes of seven settlements. */
async function seven(failEvery: number) {
  const settle = createL1({ delaySeconds: 0, failEvery })
  const outcomes = await Promise.allSettled(Array.from({ length: 7 }, () => settle(SUBMISSION)))
  return outcomes.map((it) => (it.status === 'fulfilled' ? /^0x[0-9a-f]{64}$/.test(it.value) : 'fails'))
}

t.test('of the stand-in for the L1 each third settlement fails, if it is told so, or none, or all', async (t) => {
  t.same(await seven(3), [true, true, 'fails', true, true, 'fails', true])
  t.same(await seven(0), Array(7).fill(true))
  t.same(await seven(1), Array(7).fill('fails'))
})
