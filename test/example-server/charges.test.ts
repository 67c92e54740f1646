import { create } from '@bufbuild/protobuf'
import { createClient } from '@connectrpc/connect'
import { createGrpcTransport } from '@connectrpc/connect-node'
import t from 'tap'
import { SignatureSchema } from '../../example-server/gen/example/v1/backend_pb.ts'
import { Health } from '../../example-server/gen/health/v1/health_pb.ts'
import { createLimiter } from '../../src/index.ts'
import {
  answer,
  type Backend,
  createSigner,
  denied,
  identityUpdate,
  LOOPBACK,
  left,
  limits,
  message,
  SERVICE,
  spent,
  start,
} from './harness.ts'

const signer = createSigner()
const installationId = new Uint8Array(32).fill(7)
const invalidWallet = () => create(SignatureSchema, { kind: { case: 'erc6492', value: {} as never } })

t.test('RATE-011, case 13: each RPC charges what the category table gives it, and nothing else', async (t) => {
  const { clients, limiter, urls } = await start(t)
  const wallets = (inboxId: string, n: number) => Array.from({ length: n }, () => signer.signUpdateAsWallet(inboxId))
  const calls: [name: string, (backend: Backend) => Promise<unknown>, costs: Record<string, number>][] = [
    [
      'Publish of three, two identical',
      (b) => b.publish({ envelopes: [message(), message(), message('b')] }),
      { publish: 3 },
    ],
    ['Publish of none', (b) => b.publish({}), { publish: 1 }],
    [
      'Publish of an identity update with two wallet signatures and one other, and a message',
      (b) =>
        b.publish({
          envelopes: [identityUpdate('a', [...wallets('a', 2), signer.signUpdate('a')]), message()],
        }),
      { publish: 2, identity_update: 1, chain_verify: 2 },
    ],
    ['Query of three topics', (b) => b.query({ topics: ['a', 'b', 'c'] }), {}],
    ['QueryNewest of three topics', (b) => b.queryNewest({ topics: ['a', 'b', 'c'] }), {}],
    ['GetInboxIds', (b) => b.getInboxIds({ identifiers: ['0x1', '0x2'] }), {}],
    [
      'VerifySmartContractWalletSignatures of two',
      (b) => b.verifySmartContractWalletSignatures({ requests: [{}, {}] }),
      { chain_verify: 2 },
    ],
    [
      'VerifySmartContractWalletSignatures of none',
      (b) => b.verifySmartContractWalletSignatures({}),
      { chain_verify: 1 },
    ],
    ['Register', (b) => b.register({ installationId, deliveryToken: 'somewhere' }), {}],
    [
      'UpdateSubscriptions with the same topic twice, and a removal',
      (b) => b.updateSubscriptions({ installationId, adds: ['a', 'a'], removes: ['b'] }),
      { push: 2 },
    ],
    ['UpdateSubscriptions without adds', (b) => b.updateSubscriptions({ installationId, removes: ['a'] }), {}],
    ['CreateUpload', (b) => b.createUpload({ sizeBytes: 1n }), { upload: 1 }],
  ]
  for (const { name: client, backend } of clients) {
    t.test(client, async (t) => {
      for (const [name, call, costs] of calls) {
        const before = left(limiter, LOOPBACK)
        t.equal(await answer(call(backend)), 'ok', name)
        t.same(spent(before, left(limiter, LOOPBACK)), { request: 1, ...costs }, name)
      }
      const before = left(limiter, LOOPBACK)
      await backend.getConfiguration({})
      t.same(spent(before, left(limiter, LOOPBACK)), {}, 'GetConfiguration')
    })
  }

  t.test('what is free', async (t) => {
    const before = left(limiter, LOOPBACK)
    const health = createClient(Health, createGrpcTransport({ baseUrl: urls.h2c }))
    await health.check({})
    await health.list({})
    t.equal(await answer(health.check({ service: 'no.such.Service' })), 'not_found')
    t.equal(await answer(health.watch({})[Symbol.asyncIterator]().next()), 'unimplemented')
    const json = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }
    t.equal((await fetch(`${urls.http}/${SERVICE}/NoSuchMethod`, json)).status, 404)
    t.equal((await fetch(`${urls.http}/no.such.Service/Publish`, json)).status, 404)
    t.equal((await fetch(`${urls.http}/${SERVICE}/Publish`, { method: 'OPTIONS' })).status, 400, 'no real preflight')
    const preflight = { origin: 'https://page.example', 'access-control-request-method': 'POST' }
    t.equal((await fetch(`${urls.http}/${SERVICE}/Publish`, { method: 'OPTIONS', headers: preflight })).status, 204)
    t.same(spent(before, left(limiter, LOOPBACK)), {})
  })
})

t.test('RATE-011: GetConfiguration and health are answered to a caller with nothing left', async (t) => {
  const { clients, urls } = await start(t, { request: 1 })
  const { backend } = clients[0]!
  await backend.query({ topics: ['a'] })
  t.equal(await answer(backend.query({ topics: ['a'] })), denied('request', 60_000))
  t.match(await backend.getConfiguration({}), { maxEnvelopes: 1000, rateLimitDomain: 'xmtp.org' })
  const health = createClient(Health, createGrpcTransport({ baseUrl: urls.h2c }))
  t.match(await health.check({ service: SERVICE }), { status: 1 })
})

t.test('RATE-010: a denied Publish verifies and stores nothing', async (t) => {
  const { clients, store, clock } = await start(t, { publish: 3 })
  for (const { name, backend } of clients) {
    t.test(name, async (t) => {
      const envelopes = store.count('envelopes')
      const identities = store.count('identities')
      t.equal(await answer(backend.publish({ envelopes: [message(), message()] })), 'ok')
      t.equal(store.count('envelopes'), envelopes + 2)
      // The signature is wrong; a server that looked at it would answer invalid_argument.
      const both = { envelopes: [message(), identityUpdate('a', [invalidWallet()])] }
      t.equal(await answer(backend.publish(both)), denied('publish', 20_000))
      t.equal(store.count('envelopes'), envelopes + 2)
      t.equal(store.count('identities'), identities)
      clock.advance(20_000_000_000n)
      t.equal(await answer(backend.publish({ envelopes: [message(), message()] })), 'ok', 'at the delay')
      t.equal(store.count('envelopes'), envelopes + 4)
      clock.advance(60_000_000_000n)
    })
  }
})

t.test(
  'RATE-010: Publish spends publish, identity_update and chain_verify in this order, up to the first denial',
  async (t) => {
    const envelopes = [message(), identityUpdate('a', [signer.signUpdateAsWallet('a'), signer.signUpdateAsWallet('a')])]
    for (const [used, kept] of [
      ['publish', { request: 1 }],
      ['identity_update', { request: 1, publish: 2 }],
      ['chain_verify', { request: 1, publish: 2, identity_update: 1 }],
    ] as const) {
      t.test(used, async (t) => {
        const { clients, store, limiter } = await start(t, { request: 100, [used]: 5 })
        limiter.spend(LOOPBACK, used, 5)
        for (const { name, backend } of clients) {
          const before = left(limiter, LOOPBACK)
          t.match(await answer(backend.publish({ envelopes })), `RATE_LIMITED xmtp.org ${used} `, name)
          t.same(spent(before, left(limiter, LOOPBACK)), kept, name)
        }
        t.equal(store.count('envelopes'), 0)
      })
    }
  },
)

t.test('RATE-010: a denied VerifySmartContractWalletSignatures gives no verdict', async (t) => {
  const { clients, clock } = await start(t, { chain_verify: 2 })
  const bytes = Buffer.from('a message')
  const good = { message: bytes, signature: signer.wallet(bytes) }
  const bad = { message: Buffer.from('another'), signature: signer.wallet(bytes) }
  for (const { name, backend } of clients) {
    const { verdicts } = await backend.verifySmartContractWalletSignatures({ requests: [good, bad] })
    t.match(
      verdicts,
      [
        { valid: true, reason: '' },
        { valid: false, reason: /does not match/ },
      ],
      name,
    )
    t.equal(
      await answer(backend.verifySmartContractWalletSignatures({ requests: [good] })),
      denied('chain_verify', 30_000),
      name,
    )
    clock.advance(60_000_000_000n)
  }
})

t.test('RATE-010: push and upload are spent by the handler, at their step', async (t) => {
  const { clients, store, limiter, clock } = await start(t, { push: 3, upload: 1 })
  for (const [i, { name, backend }] of clients.entries()) {
    t.test(name, async (t) => {
      const id = new Uint8Array(16).fill(i + 1)
      const uploads = store.count('uploads')
      await backend.register({ installationId: id, deliveryToken: 'somewhere' })

      t.comment('what is not well-formed costs no more than its request')
      let before = left(limiter, LOOPBACK)
      t.equal(
        await answer(backend.updateSubscriptions({ installationId: new Uint8Array(3), adds: ['a'] })),
        'invalid_argument',
      )
      t.equal(await answer(backend.createUpload({ sizeBytes: 0n })), 'invalid_argument')
      t.equal(await answer(backend.createUpload({ sizeBytes: 1n << 40n })), 'invalid_argument')
      t.same(spent(before, left(limiter, LOOPBACK)), { request: 3 })

      t.comment('paid before the store is read: an installation that is not registered costs its adds')
      before = left(limiter, LOOPBACK)
      const stranger = { installationId: new Uint8Array(16).fill(200), adds: ['a'] }
      t.equal(await answer(backend.updateSubscriptions(stranger)), 'failed_precondition')
      t.same(spent(before, left(limiter, LOOPBACK)), { request: 1, push: 1 })

      t.equal(await answer(backend.updateSubscriptions({ installationId: id, adds: ['a', 'b'] })), 'ok')
      const subscriptions = store.count('subscriptions')
      t.equal(await answer(backend.updateSubscriptions({ installationId: id, adds: ['c'] })), denied('push', 20_000))
      t.equal(await answer(backend.updateSubscriptions(stranger)), denied('push', 20_000), 'before it is looked up')
      t.equal(store.count('subscriptions'), subscriptions)

      t.comment('case 13: without adds it costs no push, and is admitted though push is used up')
      t.match(await backend.updateSubscriptions({ installationId: id, removes: ['a'] }), { topics: 1 })

      t.equal(await answer(backend.createUpload({ sizeBytes: 5n })), 'ok')
      t.equal(await answer(backend.createUpload({ sizeBytes: 5n })), denied('upload', 60_000))
      t.equal(store.count('uploads'), uploads + 1)
      clock.advance(60_000_000_000n)
    })
  }
})

t.test('RATE-012: while limits are off, everything is admitted', async (t) => {
  const { categories } = limits({ request: 1, publish: 1, push: 1, upload: 1 })
  const limiter = createLimiter({ rateLimits: { enabled: false, maxMemoryMib: 1, categories } })
  const { clients, store } = await start(t, {}, { limiter })
  for (const { name, backend } of clients) {
    t.equal(await answer(backend.publish({ envelopes: [message(), message()] })), 'ok', name)
    t.equal(await answer(backend.createUpload({ sizeBytes: 1n })), 'ok', name)
  }
  t.equal(store.count('envelopes'), 2 * clients.length)
})
