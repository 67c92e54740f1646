import t from 'tap'
import { demoKey } from '../../../example-server/settlement/demo.ts'
import { MAX_CALLS } from '../../../example-server/settlement/json-rpc.ts'
import { signedParams } from '../../../example-server/settlement/signed-call.ts'
import { callText, outcomeOf, type RpcAnswer, start, txLimited } from './harness.ts'

// The calls of a batch run side by side, so that reservations hold the room.
const full = txLimited(2, 3600, null)
const TWO = '[rate-limiting.send-tx]\nmax-per-interval = 2\ninterval-duration = "1h"\n'

t.test('a call, by names or by positions, with its id in the answer', async (t) => {
  const { post } = await start(t, '')
  const params = signedParams('sendTx', 1, Buffer.from('a'), demoKey(1))
  const send = async (call: object) => (await post(JSON.stringify({ jsonrpc: '2.0', method: 'sendTx', ...call }))).json
  const { result } = await send({ id: 'one', params })
  t.match(result, /^0x/)
  t.same(await send({ id: 'one', params }), { jsonrpc: '2.0', id: 'one', result })
  t.same(await send({ id: 0, params: Object.values(params) }), { jsonrpc: '2.0', id: 0, result })
  t.same(await send({ id: null, params: Object.values(params) }), { jsonrpc: '2.0', id: null, result })
})

t.test('a batch is charged call by call; notifications have no answer', async (t) => {
  const { post, l1 } = await start(t, TWO)
  const calls = [0, 1, 2, 3].map((i) => JSON.parse(callText('sendTx', 1, Buffer.from(`${i}`), demoKey(1), i)))
  delete calls[0].id
  const { status, json } = await post(JSON.stringify([...calls, 1, { ...calls[1], id: 9, method: 'none' }]))
  t.equal(status, 200)
  const answers = json as unknown as RpcAnswer[]
  t.same(
    answers.map(({ id }) => id),
    [1, 2, 3, null, 9],
  )
  t.same(answers.map(outcomeOf), ['settled', full, full, -32600, -32601])
  t.equal(l1.posted, 2)
  delete calls[1].id
  for (const notified of [calls[0], [calls[0], calls[1]]]) {
    const { status, text } = await post(JSON.stringify(notified))
    t.same([status, text], [204, ''])
  }
})

t.test('one network in a batch does not pay for another', async (t) => {
  const { post } = await start(t, TWO)
  const calls = [1, 2, 1, 2, 1, 2].map((id, i) =>
    JSON.parse(callText('sendTx', id, Buffer.from(`${i}`), demoKey(id), i)),
  )
  const { json } = await post(JSON.stringify(calls))
  t.same((json as unknown as RpcAnswer[]).map(outcomeOf), ['settled', 'settled', 'settled', 'settled', full, full])
})

t.test('what is no call is refused with 400 and no charge, what is a call with 200', async (t) => {
  const { post, sendTx, l1 } = await start(t, TWO)
  const params = signedParams('sendTx', 1, Buffer.from('a'), demoKey(1))
  const call = { jsonrpc: '2.0', id: 1, method: 'sendTx', params }
  const tooMany = Array.from({ length: MAX_CALLS + 1 }, () => call)
  const rows: [body: unknown, status: number, code: number][] = [
    [[], 400, -32600],
    [tooMany, 400, -32600],
    [1, 400, -32600],
    [null, 400, -32600],
    ['sendTx', 400, -32600],
    [{}, 400, -32600],
    [{ ...call, jsonrpc: '1.0' }, 400, -32600],
    [{ ...call, jsonrpc: 2 }, 400, -32600],
    [{ ...call, method: 1 }, 400, -32600],
    [{ ...call, method: undefined }, 400, -32600],
    [{ ...call, id: {} }, 400, -32600],
    [{ ...call, id: 1.5 }, 400, -32600],
    [{ ...call, id: true }, 400, -32600],
    [{ ...call, params: 'a' }, 400, -32600],
    [{ ...call, params: null }, 400, -32600],
    [{ ...call, method: 'sendtx' }, 200, -32601],
    [{ ...call, method: 'constructor' }, 200, -32601],
    [{ ...call, method: '__proto__' }, 200, -32601],
    [{ ...call, params: undefined }, 200, -32602],
    [{ ...call, params: {} }, 200, -32602],
    [{ ...call, params: [] }, 200, -32602],
    [{ ...call, params: [1, 2, 3, 4] }, 200, -32602],
    [{ ...call, params: { ...params, more: 1 } }, 200, -32602],
    ...['0x', '', 'ab', '0xa', '0xgg', 1, null, [], {}, `0x${'00'.repeat(16 * 1024 + 1)}`].map(
      (tx): [unknown, number, number] => [{ ...call, params: { ...params, tx } }, 200, -32602],
    ),
    ...['1', -1, 1.5, 2 ** 32, 1e300, null, [1], { 1: 1 }, true].map((id): [unknown, number, number] => [
      { ...call, params: { ...params, 'network-id': id } },
      200,
      -32602,
    ]),
    ...['0x', `0x${'00'.repeat(63)}`, `0x${'00'.repeat(65)}`, '00'.repeat(64), null, {}].map(
      (signature): [unknown, number, number] => [{ ...call, params: { ...params, signature } }, 200, -32602],
    ),
  ]
  for (const [body, status, code] of rows) {
    const { json, ...answer } = await post(JSON.stringify(body))
    const name = JSON.stringify(body).slice(0, 90)
    t.equal(answer.status, status, name)
    t.equal(json.error?.code, code, name)
    t.equal(json.id, status === 400 ? null : 1, name)
  }
  for (const text of ['', '{', '[1', '{"jsonrpc":"2.0"', 'nonsense', '\ufeff{}', '{"id":01}']) {
    const { status, json } = await post(text)
    t.same([status, json.error?.code, json.id], [400, -32700, null], JSON.stringify(text))
  }
  t.equal(l1.posted, 0)
  for (let i = 0; i < 2; i++) t.equal(await sendTx(1), 'settled', 'the quota is whole')
})

t.test('the longest payload is settled', async (t) => {
  const { sendTx } = await start(t, '')
  t.equal(await sendTx(1, Buffer.alloc(16 * 1024)), 'settled')
})
