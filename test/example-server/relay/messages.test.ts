import { createHash, sign } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { inRow, somebody, start } from './harness.ts'

t.test('a message and its acknowledgement, signed by hand as it is documented', async (t) => {
  const relay = await start(t)
  const [ann, bob] = [somebody(), somebody()]
  const text = `{"10":[1.5,null,true],"9":"ü\\n","content":{"a":1,"b":"2"},"recipient":"${bob.identity}","sender":"${ann.identity}"}`
  const bytes = Buffer.from(`relay message\n${text}`)
  const signature = sign(null, bytes, ann.privateKey).toString('hex')
  const id = createHash('sha256').update(bytes).digest('hex')
  const sent = { signature, ...JSON.parse(text) }
  t.match(await relay.post('/messages', sent), { status: 202, text: JSON.stringify({ id }) })
  t.match(await relay.post('/messages', JSON.stringify(sent, null, 2)), { status: 202, json: { id } })
  t.equal(relay.store.count('messages'), 1, 'the same message is kept once')

  t.match(
    await relay.post('/acks', ann.ack(id)),
    { status: 404, json: { error: 'unknown_message' } },
    'not hers to say',
  )
  t.match(await relay.post('/acks', bob.ack('no such id')), { status: 404, json: { error: 'unknown_message' } })
  t.equal(relay.store.count('acks'), 0)
  t.match(await relay.post('/acks', bob.ack(id)), { status: 202, json: { message_id: id } })
  t.match(await relay.post('/acks', bob.ack(id)), { status: 202, json: { message_id: id } })
  t.equal(relay.store.count('acks'), 1)
})

t.test('forged: 401, once it has passed the limiter, and then 429; nothing is stored', async (t) => {
  const relay = await start(t)
  const [ann, bob] = [somebody(), somebody()]
  const message = ann.message(bob.identity)
  const forgeries = [
    { ...message, sender: bob.identity },
    { ...message, content: 'another' },
    { ...message, more: 1 },
    { ...message, signature: '00'.repeat(64) },
    { ...message, signature: message.signature.toUpperCase() },
    { ...message, signature: undefined },
    { ...message, signature: 7 },
    { ...message, signature: `${message.signature}00` },
    { ...message, sender: 'ann' },
    { ...message, sender: 'f'.repeat(64) },
    { ...message, sender: '0'.repeat(64) },
    { ...message, sender: ann.identity.toUpperCase() },
    { ...message, sender: `${ann.identity} ` },
  ]
  for (const forgery of forgeries) {
    const { status, text, headers } = await relay.post('/messages', forgery)
    t.equal(status, 401, JSON.stringify(forgery))
    t.equal(text, '{"error":"invalid_signature"}')
    t.ok(headers.has('www-authenticate'))
  }
  t.equal((await relay.post('/acks', message)).status, 401, 'a signature of a message is none of an acknowledgement')
  const victim = somebody()
  const forged = { ...message, sender: victim.identity }
  t.equal(await inRow(22, async () => (await relay.post('/messages', forged)).status), '20 x 401, 2 x 429')
  t.match(
    await relay.post('/messages', victim.message(bob.identity)),
    { status: 429, json: { scope: 'sender' } },
    'which uses up what the victim is allowed, as the document says',
  )
  t.equal(relay.store.count('messages'), 0)
})

t.test('signed, but not as it must be', async (t) => {
  const relay = await start(t, { sender: {}, global: {} })
  const ann = somebody()
  t.match(await relay.post('/messages', ann.message('bob')), { status: 400, json: { reason: /^recipient: / } })
  t.match(await relay.post('/acks', ann.ack(7 as unknown as string)), {
    status: 400,
    json: { reason: /^message_id: / },
  })
  t.equal(relay.store.count('messages'), 0)
})

t.test('whatever is signed is relayed, and whatever is acknowledged is looked up', async (t) => {
  const { app, store } = await start(t, { sender: {}, global: {} }, { maxMessages: 50, log: false })
  const [ann, bob] = [somebody(), somebody()]
  const status = async (url: string, payload: object) =>
    (await app.inject({ method: 'POST', url, payload: JSON.stringify(payload) })).statusCode
  await fc.assert(
    fc.asyncProperty(fc.jsonValue({ maxDepth: 4, stringUnit: 'binary' }), async (content) => {
      return (await status('/messages', ann.message(bob.identity, content))) === 202
    }),
  )
  t.ok(store.count('messages') > 1)
  for (const id of ['', '\ud800', 'a\u0000b', "' OR 1", 'x'.repeat(5000)])
    t.equal(await status('/acks', bob.ack(id)), 404)
  t.equal(store.count('acks'), 0)
})

t.test('the oldest messages go when there are too many, with what was said of them', async (t) => {
  const relay = await start(t, { sender: {}, global: {} }, { maxMessages: 3 })
  const [ann, bob] = [somebody(), somebody()]
  const ids: string[] = []
  for (let i = 0; i < 5; i++) {
    const { json } = await relay.post('/messages', ann.message(bob.identity, i))
    ids.push(json!.id as string)
    t.equal((await relay.post('/acks', bob.ack(ids[i]!))).status, 202)
    t.equal((await relay.post('/messages', ann.message(bob.identity, i))).status, 202, 'again')
  }
  t.equal(relay.store.count('messages'), 3)
  t.equal(relay.store.count('acks'), 3)
  t.equal((await relay.post('/acks', bob.ack(ids[0]!))).status, 404)
  t.equal((await relay.post('/acks', bob.ack(ids[4]!))).status, 202)
})

t.test('public reads', async (t) => {
  const relay = await start(t)
  const { identity, privateKey } = somebody()
  const { text } = await relay.get(`/identities/${identity}`)
  const { x } = privateKey.export({ format: 'jwk' })
  t.same(JSON.parse(text), { identity, key: { kty: 'OKP', crv: 'Ed25519', x } })
  t.equal((await relay.get(`/identities/${identity.toUpperCase()}`)).status, 404)
  const challenges = [await relay.get('/auth/challenge'), await relay.get('/auth/challenge')]
  for (const { text, headers } of challenges) {
    t.match(JSON.parse(text), { challenge: /^[\w-]{43}$/ })
    t.equal(headers.get('cache-control'), 'no-store')
  }
  t.not(challenges[0]!.text, challenges[1]!.text)
})
