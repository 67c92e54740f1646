import t from 'tap'
import { callText, certificateLimited, HOUR, MINUTE, MS, start, txLimited } from './harness.ts'

const certificates = (max: number) => `[rate-limiting.send-certificate]\nmax-per-epoch = ${max}\n`
const tx = (max: number, interval: string) =>
  `[rate-limiting.send-tx]\nmax-per-interval = ${max}\ninterval-duration = "${interval}"\n`
const epoch = '[epoch]\nduration = "30min"\n'

t.test('N in an epoch, by the epochs of the configuration', async (t) => {
  const { clock, post, sendCertificate } = await start(t, certificates(2) + epoch)
  for (let i = 0; i < 2; i++) t.equal(await sendCertificate(1), 'settled')
  t.same(await sendCertificate(1), certificateLimited(2))
  t.equal(await sendCertificate(2), 'settled', 'another network is not affected')
  clock.advance(30n * MINUTE - MS)
  const { status, json } = await post(callText('sendCertificate', 1, Buffer.from('a')))
  t.equal(status, 200)
  t.match(json, {
    id: 7,
    error: {
      code: -10007,
      message: 'Rate limited',
      data: { 'rate-limited': { detail: /2.*epoch/, error: certificateLimited(2) as object } },
    },
  })
  clock.advance(MS)
  for (let i = 0; i < 2; i++) t.equal(await sendCertificate(1), 'settled', 'a new epoch')
  t.same(await sendCertificate(1), certificateLimited(2))
})

t.test('the epoch comes from a source that the server is given', async (t) => {
  let number = 41
  const { clock, sendCertificate } = await start(t, certificates(1), { epochs: { current: () => number } })
  t.equal(await sendCertificate(1), 'settled')
  clock.advance(1000n * HOUR)
  t.same(await sendCertificate(1), certificateLimited(1), 'whatever the time is')
  number += 1
  t.equal(await sendCertificate(1), 'settled')
  t.same(await sendCertificate(1), certificateLimited(1))
})

t.test('a source of epochs that fails admits nothing, and costs nothing', async (t) => {
  let fails = true
  const current = () => {
    if (fails) throw new Error('SECRET of the source')
    return 1
  }
  const { sendCertificate, sendTx, l1, logged } = await start(t, certificates(1) + tx(1, '1h'), { epochs: { current } })
  t.equal(await sendCertificate(1), -32603)
  t.equal(await sendTx(1), -32603, 'nor can it be said whether there was a certificate')
  t.equal(l1.posted, 0)
  t.match(logged.join(''), /"level":50.*the method failed/)
  t.notMatch(logged.join(''), /SECRET/)
  fails = false
  t.equal(await sendCertificate(1), 'settled')
  t.same(await sendCertificate(1), certificateLimited(1))
})

t.test('a wall clock that is set back begins no new epoch', async (t) => {
  let wall = 90 * 60_000
  const clock = { now: () => 0n, wall: () => wall, schedule: () => () => {} }
  const { sendCertificate, sendTx } = await start(t, certificates(1) + tx(1, '1h') + epoch, { clock })
  t.equal(await sendCertificate(1), 'settled')
  wall -= 45 * 60_000
  t.same(await sendCertificate(1), certificateLimited(1))
  t.same(await sendTx(1), txLimited(1, 3600, 75 * 60), 'the next one begins where it would have')
  wall += 75 * 60_000
  t.equal(await sendCertificate(1), 'settled')
})

t.test('an open certificate holds its slot, in the next epoch too; one that fails gives it back', async (t) => {
  const { clock, l1, sendCertificate } = await start(t, certificates(1) + epoch)
  l1.hold()
  const first = sendCertificate(1)
  await l1.opened(1)
  t.same(await sendCertificate(1), certificateLimited(1))
  l1.failOne()
  t.equal(await first, -10004)
  const second = sendCertificate(1)
  await l1.opened(1)
  clock.advance(30n * MINUTE)
  t.same(await sendCertificate(1), certificateLimited(1), 'it may still settle in this epoch')
  l1.settleOne()
  t.equal(await second, 'settled')
  t.same(await sendCertificate(1), certificateLimited(1), 'it was settled in this epoch')
  l1.settleAll()
  clock.advance(30n * MINUTE)
  t.equal(await sendCertificate(1), 'settled')
})

t.test('0 disables it, for all or for one, and "unlimited" switches the limit off', async (t) => {
  const own =
    '[rate-limiting.network.2]\nsend-certificate = "unlimited"\n[rate-limiting.network.3.send-certificate]\nmax-per-epoch = 1\n'
  const { post, sendTx, sendCertificate, clock } = await start(t, certificates(0) + own)
  t.same(await sendCertificate(1), { 'send-certificate-disabled': {} })
  clock.advance(1_000_000n * HOUR)
  const { json } = await post(callText('sendCertificate', 1, Buffer.from('a')))
  t.match(json, { error: { code: -10007, message: 'Rate limited', data: { 'rate-limited': { detail: String } } } })
  t.equal(await sendTx(1), 'settled', 'the other method is not')
  for (let i = 0; i < 20; i++) t.equal(await sendCertificate(2), 'settled')
  t.equal(await sendCertificate(3), 'settled')
  t.same(await sendCertificate(3), certificateLimited(1))
})

t.test('1000 at once never pass more than the limit', async (t) => {
  const { l1, sendCertificate } = await start(t, certificates(7))
  const outcomes = await Promise.all(Array.from({ length: 1000 }, (_, i) => sendCertificate(1, Buffer.from(`${i}`))))
  t.equal(outcomes.filter((outcome) => outcome === 'settled').length, 7)
  t.equal(l1.posted, 7)
})
