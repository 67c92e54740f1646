import t from 'tap'
import { bounds } from '../../example-server/bounds.ts'
import { type Backend, createSigner, identityUpdate, LOOPBACK, left, message, SERVICE, start } from './harness.ts'

const id = new Uint8Array(16)
const signature = createSigner().signUpdate('a')
const repeat = <T>(value: T, n: number): T[] => Array.from({ length: n }, () => value)

const rows: [call: (backend: Backend) => Promise<unknown>, problem: string][] = [
  [(b) => b.publish({ envelopes: repeat(message('a', ''), 1001) }), 'envelopes: 1001 entries; allowed: 0 to 1000'],
  [(b) => b.publish({ envelopes: [message('')] }), 'envelopes[0].topic: 0 bytes; allowed: 1 to 256'],
  [
    (b) => b.publish({ envelopes: [message(), message('é'.repeat(129))] }),
    'envelopes[1].topic: 258 bytes; allowed: 1 to 256',
  ],
  [
    (b) => b.publish({ envelopes: [message('a\n')] }),
    'envelopes[0].topic: allowed: Unicode text without control characters',
  ],
  [
    (b) => b.publish({ envelopes: [message('a', 'x'.repeat(65_537))] }),
    'envelopes[0].application_message: 65537 bytes; allowed: 0 to 65536',
  ],
  [
    (b) => b.publish({ envelopes: [{ topic: 'a' }] }),
    'envelopes[0]: no payload; allowed: application_message or identity_update',
  ],
  [
    (b) => b.publish({ envelopes: [identityUpdate('', [signature])] }),
    'envelopes[0].identity_update.inbox_id: 0 bytes; allowed: 1 to 256',
  ],
  [
    (b) => b.publish({ envelopes: [identityUpdate('a', [])] }),
    'envelopes[0].identity_update.signatures: 0 entries; allowed: 1 to 16',
  ],
  [
    (b) => b.publish({ envelopes: [identityUpdate('a', repeat(signature, 17))] }),
    'envelopes[0].identity_update.signatures: 17 entries; allowed: 1 to 16',
  ],
  [
    (b) => b.publish({ envelopes: repeat(identityUpdate('a', repeat(signature, 16)), 17) }),
    'signatures in the request: 272; allowed: 0 to 256',
  ],
  [(b) => b.query({}), 'topics: 0 entries; allowed: 1 to 1000'],
  [(b) => b.query({ topics: repeat('a', 1001) }), 'topics: 1001 entries; allowed: 1 to 1000'],
  [(b) => b.query({ topics: ['a', ''] }), 'topics[1]: 0 bytes; allowed: 1 to 256'],
  [(b) => b.query({ topics: ['a'], limit: 101 }), 'limit: 101; allowed: 0 to 100'],
  [(b) => b.queryNewest({ topics: repeat('a', 1001) }), 'topics: 1001 entries; allowed: 1 to 1000'],
  [(b) => b.getInboxIds({}), 'identifiers: 0 entries; allowed: 1 to 1000'],
  [
    (b) => b.getInboxIds({ identifiers: ['\u0000'] }),
    'identifiers[0]: allowed: Unicode text without control characters',
  ],
  [
    (b) => b.verifySmartContractWalletSignatures({ requests: repeat({}, 101) }),
    'requests: 101 entries; allowed: 0 to 100',
  ],
  [
    (b) => b.verifySmartContractWalletSignatures({ requests: [{ message: new Uint8Array(65_537) }] }),
    'requests[0].message: 65537 bytes; allowed: 0 to 65536',
  ],
  [
    (b) => b.register({ installationId: new Uint8Array(15), deliveryToken: 'a' }),
    'installation_id: 15 bytes; allowed: 16 to 64',
  ],
  [
    (b) => b.register({ installationId: new Uint8Array(65), deliveryToken: 'a' }),
    'installation_id: 65 bytes; allowed: 16 to 64',
  ],
  [(b) => b.register({ installationId: id }), 'delivery_token: 0 bytes; allowed: 1 to 4096'],
  [
    (b) => b.updateSubscriptions({ installationId: id, adds: repeat('a', 1001) }),
    'adds: 1001 entries; allowed: 0 to 1000',
  ],
  [
    (b) => b.updateSubscriptions({ installationId: id, removes: repeat('a', 1001) }),
    'removes: 1001 entries; allowed: 0 to 1000',
  ],
  [(b) => b.updateSubscriptions({ installationId: id, adds: [''] }), 'adds[0]: 0 bytes; allowed: 1 to 256'],
  [(b) => b.createUpload({}), 'size_bytes: 0; allowed: 1 to 26214400'],
  [(b) => b.createUpload({ sizeBytes: 26_214_401n }), 'size_bytes: 26214401; allowed: 1 to 26214400'],
]

t.test('what is out of bounds is named, costs its request, and changes nothing', async (t) => {
  const counts = { request: 1000, publish: 100_000, identity_update: 1000, chain_verify: 1000 }
  const { clients, store, limiter } = await start(t, counts)
  const { backend } = clients[0]!
  for (const [call, rawMessage] of rows) {
    await t.rejects(call(backend), { code: 3, rawMessage }, rawMessage)
  }
  t.match(left(limiter, LOOPBACK), { request: 1000 - rows.length, push: 2000, upload: 120 })
  for (const table of ['envelopes', 'identities', 'installations', 'subscriptions', 'uploads'] as const) {
    t.equal(store.count(table), 0, table)
  }
})

t.test('what is just within bounds is served', async (t) => {
  const { clients } = await start(t, { publish: 1001 })
  for (const { name, backend } of clients) {
    t.comment(name)
    // A GET has its message in its URL, which Node bounds to 16 KiB.
    const topics = Array.from({ length: name.includes('GET') ? 99 : 999 }, (_, i) => `topic ${i}`)
    await backend.publish({ envelopes: [] })
    t.equal((await backend.queryNewest({ topics: [...topics, 'a'] })).envelopes.length, 0)
    await backend.register({ installationId: id, deliveryToken: 'x'.repeat(4096) })
    t.match(await backend.updateSubscriptions({ installationId: id, adds: topics.slice(0, 20), removes: topics }), {
      topics: 20,
    })
    t.match(await backend.createUpload({ sizeBytes: BigInt(bounds.uploadBytes) }), { credential: { length: 32 } })
  }
  const { backend } = clients[0]!
  const { sequenceIds } = await backend.publish({ envelopes: repeat(message('a', ''), 993) })
  t.equal(sequenceIds.length, 993)
  t.equal((await backend.query({ topics: ['a'] })).envelopes.length, 100)
})

t.test('an installation holds so many topics and no more', async (t) => {
  const { clients } = await start(t, { push: 100_000 })
  const { backend } = clients[0]!
  await backend.register({ installationId: id, deliveryToken: 'a' })
  const adds = (n: number) => Array.from({ length: 1000 }, (_, i) => `topic ${n * 1000 + i}`)
  for (let i = 0; i < 10; i++) await backend.updateSubscriptions({ installationId: id, adds: adds(i) })
  await t.rejects(backend.updateSubscriptions({ installationId: id, adds: ['one more'] }), { code: 9 })
  t.match(await backend.updateSubscriptions({ installationId: id, adds: adds(9) }), { topics: 10_000 })
})

t.test('a message that is too long is not read, and is no rate-limit rejection', async (t) => {
  const { urls } = await start(t)
  const body = JSON.stringify({ topics: ['x'.repeat(bounds.requestBytes)] })
  const response = await fetch(`${urls.http}/${SERVICE}/Query`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  const { code, details } = (await response.json()) as { code: string; details?: unknown }
  t.match({ code, details }, { code: 'resource_exhausted', details: undefined })
})
