import { join } from 'node:path'
import { createClient } from '@connectrpc/connect'
import { createGrpcTransport } from '@connectrpc/connect-node'
import t from 'tap'
import { demo } from '../../example-server/demo.ts'
import { BackendService } from '../../example-server/gen/example/v1/backend_pb.ts'
import { MAIN, startExample } from '../support/example-process.ts'
import { SERVICE } from './harness.ts'

t.test('SIGTERM and SIGINT end it, with clients connected, and the database is there next time', async (t) => {
  const database = join(t.testdir(), 'store.sqlite')
  for (const [i, signal] of (['SIGTERM', 'SIGINT'] as const).entries()) {
    const { child, http, h2c, output, end } = await startExample(t, [...MAIN, '--database', database])
    t.match(output(), demo.apiKey, 'the demo key is printed, which everybody knows')
    const backend = createClient(BackendService, createGrpcTransport({ baseUrl: h2c, defaultTimeoutMs: 30_000 }))
    const { sequenceIds } = await backend.publish({
      envelopes: [{ topic: 'a', payload: { case: 'applicationMessage', value: new Uint8Array(1) } }],
    })
    t.same(sequenceIds, [BigInt(i + 1)])
    await fetch(`${http}/${SERVICE}/Query`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
      signal: AbortSignal.timeout(30_000),
    })
    const started = Date.now()
    child.kill(signal)
    t.same(await end(), [0, null], signal)
    t.ok(Date.now() - started < 5000, `${Date.now() - started} ms: not because its time to finish was over`)
  }
})
