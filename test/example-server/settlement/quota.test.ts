import t from 'tap'
import { Quota } from '../../../example-server/settlement/quota.ts'
import type { Rates } from '../../../example-server/settlement/rates.ts'
import { manualClock } from '../../../src/index.ts'

const EPOCHS = { current: () => 0 }
const CERTIFICATE = { maxPerEpoch: 1 }

function quotaOf(networks: number, rates: Rates) {
  return new Quota(new Map(Array.from({ length: networks }, (_, id) => [id, { rates }])), EPOCHS, manualClock())
}

t.test('there is room for many networks with a limit of certificates only', (t) => {
  const quota = quotaOf(36_000, { sendTx: 'unlimited', sendCertificate: CERTIFICATE })
  for (const method of ['sendTx', 'sendCertificate'] as const) quota.reserve(method, 35_999).commit()
  t.throws(() => quota.reserve('sendCertificate', 35_999), { code: -10007 })
  quota.reserve('sendCertificate', 0).release()
  t.end()
})

t.test('there is room for networks with the greatest limits', (t) => {
  const rates = { sendTx: { maxPerInterval: 100_000, intervalSeconds: 1 }, sendCertificate: CERTIFICATE }
  const quota = quotaOf(5, rates)
  quota.reserve('sendTx', 4).commit()
  t.throws(() => quota.reserve('sendCertificate', 4), { code: -10007 })
  quota.reserve('sendCertificate', 0).release()
  t.end()
})
