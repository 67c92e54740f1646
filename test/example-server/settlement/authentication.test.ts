import { generateKeyPairSync, sign } from 'node:crypto'
import t from 'tap'
import { demoKey } from '../../../example-server/settlement/demo.ts'
import { signedParams } from '../../../example-server/settlement/signed-call.ts'
import { type MethodName, messageOf } from '../../../example-server/settlement/submission.ts'
import { callText, HOUR, outcomeOf, start, txLimited } from './harness.ts'

const ONE_EACH = `
[rate-limiting.send-tx]
max-per-interval = 1
interval-duration = "1h"
[rate-limiting.send-certificate]
max-per-epoch = 1
`
const payload = Buffer.from('a payload')

t.test('nobody can exhaust the quota of another: the signature is checked before anything is charged', async (t) => {
  const { post, sendTx, l1, logged } = await start(t, ONE_EACH)
  const { privateKey: stranger } = generateKeyPairSync('ed25519')
  const good = JSON.parse(callText('sendTx', 1, payload)).params
  const forgeries: [string, unknown][] = [
    ['signed by a stranger', signedParams('sendTx', 1, payload, stranger)],
    ['signed by another network', signedParams('sendTx', 1, payload, demoKey(2))],
    ['the signature of another payload', { ...good, tx: '0x00' }],
    [
      'one bit of the signature',
      { ...good, signature: good.signature.replace(/.$/, (c: string) => (c === '0' ? '1' : '0')) },
    ],
    ['the signature of another network', { ...signedParams('sendTx', 2, payload, demoKey(2)), 'network-id': 1 }],
    ['no method signed', { ...good, signature: inHex(sign(null, payload, demoKey(1))) }],
    ['nothing', { ...good, signature: `0x${'00'.repeat(64)}` }],
  ]
  for (let round = 0; round < 3; round++) {
    for (const [name, params] of forgeries) {
      const { status, json } = await post(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'sendTx', params }))
      t.equal(status, 200, name)
      t.same(json.error, { code: -10002, message: 'Invalid signature' }, name)
    }
  }
  t.equal(l1.posted, 0)
  t.equal(await sendTx(1), 'settled', 'the quota is whole')
  t.notMatch(logged.join(''), /127\.0\.0\.1|signature"|0x/)
})

t.test('a signature is good for one method only', async (t) => {
  const { post, sendCertificate } = await start(t, ONE_EACH)
  const { tx, ...params } = JSON.parse(callText('sendTx', 1, payload)).params
  const call = { jsonrpc: '2.0', id: 1, method: 'sendCertificate', params: { ...params, certificate: tx } }
  t.equal(outcomeOf((await post(JSON.stringify(call))).json), -10002)
  t.equal(await sendCertificate(1), 'settled')
})

t.test('a call that somebody has overheard and sends again charges nobody', async (t) => {
  const { post, clock, l1, sendTx } = await start(t, ONE_EACH)
  const overheard = callText('sendTx', 1, payload)
  const { json: first } = await post(overheard)
  t.equal(outcomeOf(first), 'settled')
  clock.advance(HOUR)
  for (let i = 0; i < 3; i++) t.same((await post(overheard)).json, first, 'the answer it had before')
  t.equal(l1.posted, 1)
  l1.hold()
  const second = sendTx(1, Buffer.from('another'))
  await l1.opened(1)
  t.equal(await sendTx(1, Buffer.from('another')), -10003, 'while it is under way')
  l1.failOne()
  t.equal(await second, -10004)
  l1.settleAll()
  t.equal(await sendTx(1, Buffer.from('another')), 'settled', 'the network tries again what failed')
  t.same(await sendTx(1, Buffer.from('a third')), txLimited(1, 3600, 3600))
  clock.advance(HOUR)
  t.equal(await sendTx(1, Buffer.from('a third')), 'settled', 'and what was refused')
})

t.test('who is not in the configuration is unknown', async (t) => {
  const { post } = await start(t, ONE_EACH)
  for (const id of [0, 5, 2 ** 32 - 1]) {
    const { json } = await post(callText('sendTx', id, payload))
    t.same(json.error, { code: -10001, message: 'Unknown network' })
  }
})

t.test('what is signed is said once and for all', (t) => {
  const signed = (method: MethodName, id: number, text: string) => messageOf(method, id, Buffer.from(text)).toString()
  t.equal(signed('sendTx', 1, 'x'), 'settlement/v1\nsendTx\n1\nx')
  t.not(signed('sendTx', 1, '2\nx'), signed('sendTx', 12, '\nx'))
  t.end()
})

function inHex(bytes: Buffer): string {
  return `0x${bytes.toString('hex')}`
}
