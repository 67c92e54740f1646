import t from 'tap'
import { certificateLimited, HOUR, MINUTE, MS, start, txLimited } from './harness.ts'

// An hour and 3 of it; epochs of 30 min and 3 in each.
const BOTH = `
[rate-limiting.send-tx]
max-per-interval = 3
interval-duration = "1h"
[rate-limiting.send-certificate]
max-per-epoch = 3
[epoch]
duration = "30min"
`

t.test('sendCertificate waits until the whole interval of sendTx has passed, whatever its limit', async (t) => {
  const { clock, sendTx, sendCertificate } = await start(t, BOTH)
  t.equal(await sendTx(1), 'settled')
  t.same(await sendCertificate(1), certificateLimited(3), 'under its own name')
  t.equal(await sendCertificate(2), 'settled', 'another network is not affected')
  clock.advance(30n * MINUTE)
  t.same(await sendCertificate(1), certificateLimited(3), 'a new epoch does not help')
  t.equal(await sendTx(1), 'settled', 'it may go on by sendTx')
  clock.advance(HOUR - MS)
  t.same(await sendCertificate(1), certificateLimited(3), 'an interval after the last one, not the first')
  clock.advance(MS)
  t.equal(await sendCertificate(1), 'settled')
})

t.test('sendTx waits for a new epoch of sendCertificate, whatever its limit', async (t) => {
  const { clock, sendTx, sendCertificate } = await start(t, BOTH)
  clock.advance(10n * MINUTE)
  t.equal(await sendCertificate(1), 'settled')
  t.same(await sendTx(1), txLimited(3, 3600, 1200), 'under its own name, until the epoch ends')
  t.equal(await sendTx(2), 'settled', 'another network is not affected')
  clock.advance(20n * MINUTE - MS)
  t.same(await sendTx(1), txLimited(3, 3600, 1))
  t.equal(await sendCertificate(1), 'settled', 'it may go on by sendCertificate')
  clock.advance(MS)
  t.equal(await sendTx(1), 'settled')
  t.same(await sendCertificate(1), certificateLimited(3))
})

t.test('nobody gets more by switching: the refused call is not charged', async (t) => {
  const { clock, sendTx, sendCertificate } = await start(t, BOTH)
  for (let i = 0; i < 3; i++) t.equal(await sendTx(1), 'settled')
  t.same(await sendTx(1), txLimited(3, 3600, 3600))
  for (let i = 0; i < 5; i++) t.same(await sendCertificate(1), certificateLimited(3))
  clock.advance(HOUR)
  for (let i = 0; i < 3; i++) t.equal(await sendCertificate(1), 'settled', 'all of them are left')
  for (let i = 0; i < 5; i++) t.same(await sendTx(1), txLimited(3, 3600, 1800))
  clock.advance(30n * MINUTE)
  for (let i = 0; i < 3; i++) t.equal(await sendTx(1), 'settled', 'all of them are left')
})

t.test('until-next is null where the source of epochs cannot tell when the next one begins', async (t) => {
  let number = 0
  const { sendTx, sendCertificate } = await start(t, BOTH, { epochs: { current: () => number } })
  t.equal(await sendCertificate(1), 'settled')
  t.same(await sendTx(1), txLimited(3, 3600, null))
  number = 1
  t.equal(await sendTx(1), 'settled')
})

t.test('an open reservation of the other counts too', async (t) => {
  const { clock, l1, sendTx, sendCertificate } = await start(t, BOTH)
  l1.hold()
  const transaction = sendTx(1)
  await l1.opened(1)
  clock.advance(2n * HOUR)
  t.same(await sendCertificate(1), certificateLimited(3), 'a transaction is open')
  l1.failOne()
  t.equal(await transaction, -10004)

  const certificate = sendCertificate(1)
  await l1.opened(1)
  t.same(await sendTx(1), txLimited(3, 3600, null), 'a certificate is open')
  clock.advance(30n * MINUTE)
  t.same(await sendTx(1), txLimited(3, 3600, null), 'in the next epoch too')
  l1.settleOne()
  t.equal(await certificate, 'settled')
  t.same(await sendTx(1), txLimited(3, 3600, 1800), 'it was settled in this epoch')

  const another = sendCertificate(1)
  await l1.opened(1)
  t.same(await sendTx(1), txLimited(3, 3600, null), 'nobody knows when the open one will be settled')
  l1.failOne()
  t.equal(await another, -10004)
  t.same(await sendTx(1), txLimited(3, 3600, 1800))
  clock.advance(30n * MINUTE)
  l1.settleAll()
  t.equal(await sendTx(1), 'settled')
})

t.test('who is not limited, or disabled, in one of the two waits for nothing of it', async (t) => {
  const own = `
[rate-limiting.network.2]
send-tx = "unlimited"
[rate-limiting.network.3]
send-certificate = "unlimited"
[rate-limiting.network.4]
send-tx = { max-per-interval = 0 }
[rate-limiting.network.1]
send-certificate = { max-per-epoch = 0 }
`
  const { sendTx, sendCertificate } = await start(t, BOTH + own)
  for (let i = 0; i < 3; i++) {
    t.equal(await sendTx(2), 'settled')
    t.equal(await sendCertificate(2), 'settled')
    t.equal(await sendTx(3), 'settled')
    t.equal(await sendCertificate(3), 'settled')
    t.equal(await sendCertificate(4), 'settled')
    t.same(await sendTx(4), { 'send-tx-disabled': {} })
    t.equal(await sendTx(1), 'settled')
    t.same(await sendCertificate(1), { 'send-certificate-disabled': {} })
  }
  t.equal(await sendTx(2), 'settled', 'unlimited it stays')
  t.same(await sendCertificate(2), certificateLimited(3))
  t.same(await sendTx(3), txLimited(3, 3600, 3600))
  t.equal(await sendCertificate(3), 'settled', 'unlimited it stays')
})
