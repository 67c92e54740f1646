import { join } from 'node:path'
import t from 'tap'
import { Store } from '../../example-server/store.ts'

const bytes = (text: string) => new Uint8Array(Buffer.from(text))
const envelope = (topic: string, text = topic) => ({ topic, envelope: bytes(text) })

t.test('envelopes by topic, oldest first', async (t) => {
  const store = new Store()
  t.teardown(() => store.close())
  t.same(store.publish([envelope('a', '1'), envelope('b', '2'), envelope('a', '3')], [], 1000), [1n, 2n, 3n])
  t.same(store.publish([], [], 1000), [])
  t.match(store.query(['a'], 0n, 10), [{ sequenceId: 1n, storedAtMs: 1000, envelope: bytes('1') }, { sequenceId: 3n }])
  t.match(store.query(['a', 'b', 'a'], 1n, 10), [{ sequenceId: 2n }, { sequenceId: 3n }])
  t.match(store.query(['a'], 0n, 1), [{ sequenceId: 1n }])
  t.same(store.query(['a'], 2n ** 64n - 1n, 10), [])
  t.same(store.query(['no "such" topic'], 0n, 10), [])
  t.match(
    store.queryNewest(['b', 'none', 'a']).map(({ sequenceId }) => sequenceId),
    [2n, 3n],
  )
})

t.test('all of a publish or none', async (t) => {
  const store = new Store()
  t.teardown(() => store.close())
  t.throws(() => store.publish([envelope('a'), { topic: null as never, envelope: bytes('') }], [], 0))
  t.equal(store.count('envelopes'), 0)
  t.same(store.publish([envelope('a')], [{ identifier: '0x1', inboxId: 'i' }], 0).length, 1, 'and it goes on')
  store.publish([], [{ identifier: '0x1', inboxId: 'j' }], 0)
  t.same(store.inboxIds(['0x2', '0x1']), [{ identifier: '0x1', inboxId: 'j' }], 'the last one counts')
})

t.test('subscriptions of a registered installation', async (t) => {
  const store = new Store()
  t.teardown(() => store.close())
  const id = bytes('an installation')
  t.notOk(store.isRegistered(id))
  store.register(id, 'somewhere')
  store.register(id, 'elsewhere')
  t.ok(store.isRegistered(id))
  t.equal(store.updateSubscriptions(id, ['a', 'a', 'b'], ['a'], 3), 2, 'removals first')
  t.equal(store.updateSubscriptions(id, ['c', 'd'], [], 3), undefined, 'too many')
  t.equal(store.count('subscriptions'), 2, 'and nothing has changed')
  t.equal(store.updateSubscriptions(id, [], ['a', 'b'], 3), 0)
})

t.test('uploads are forgotten when they have expired', async (t) => {
  const store = new Store()
  t.teardown(() => store.close())
  store.addUpload('a', 1, 1000, 0)
  store.addUpload('b', 1, 2000, 999)
  t.equal(store.count('uploads'), 2)
  store.addUpload('c', 1, 3000, 1000)
  t.equal(store.count('uploads'), 2)
})

t.test('a file is found again', async (t) => {
  const path = join(t.testdir(), 'store.sqlite')
  const first = new Store(path)
  first.publish([envelope('a')], [], 0)
  first.close()
  first.close()
  const second = new Store(path)
  t.teardown(() => second.close())
  t.equal(second.count('envelopes'), 1)
  t.same(second.publish([envelope('a')], [], 0), [2n])
})
