import { createClient } from '@connectrpc/connect'
import { createGrpcTransport } from '@connectrpc/connect-node'
import t from 'tap'
import { demo } from '../../example-server/demo.ts'
import { BackendService } from '../../example-server/gen/example/v1/backend_pb.ts'
import { leaveSoon, MAIN, startExample } from '../support/example-process.ts'
import { run } from '../support/program.ts'
import { answer, SERVICE } from './harness.ts'

t.test('it says where it is, what a call costs, what is admitted, and what to try; all of that is true', async (t) => {
  const { http, h2c, output, examples } = await startExample(t, [...MAIN, '--config', 'example-server/demo.toml'])
  const text = output()
  for (const category of [
    'publish: envelopes (at least 1)',
    'chain_verify: requests (at least 1)',
    'push: by the handler',
  ]) {
    t.ok(text.includes(category), category)
  }
  for (const { name } of BackendService.methods) t.match(text, new RegExp(`${SERVICE}/${name} +(1 request|free)`))
  t.match(text, /publish +API key: 10 per 60 s; token: 5 per 60 s, 100 per 3600 s; address: 5 per 60 s, 100 per 3600 s/)
  t.match(text, /upload +3 per 60 s\n/)
  t.match(text, /stream_rent +6 per 60 s\n/)
  t.match(text, /1\. API key "indexer" +request +everything\n +1\. API key "indexer" +publish +50000 per 60 s\n/)
  t.notMatch(text, demo.apiKey, 'no key of a configuration is printed')

  t.equal(examples.length, 9)
  const shell = (command: string) => run(['bash', '-c', command])
  const [publish, query, asUser, overGrpc, configuration, allowance, health, watch, refusal] = examples
  t.match(JSON.parse((await shell(publish!)).stdout), { sequenceIds: ['1'] })
  t.match(JSON.parse((await shell(query!)).stdout), { envelopes: [{ envelope: { topic: 'greetings' } }] })
  t.match(JSON.parse((await shell(asUser!)).stdout), { envelopes: [{ sequenceId: '1' }] })
  t.match(JSON.parse((await shell(overGrpc!)).stdout), { envelopes: [{ sequenceId: '1' }] })
  t.match(JSON.parse((await shell(configuration!)).stdout), { rateLimitDomain: 'xmtp.org' })
  t.match(JSON.parse((await shell(allowance!)).stdout), { caller: 'address 127.0.0.1', authType: 'ip' })
  t.match(JSON.parse((await shell(health!)).stdout), { status: 'SERVING' })
  const watching = () => shell(`${leaveSoon(watch!)} || true`)
  t.match((await watching()).stdout, /\{"started":\{\}\}.*\{"messages":.*"sequenceId":"1"/)
  await Promise.all([watching(), watching()])
  t.match((await watching()).stdout, /"code":"resource_exhausted".*"category":"stream_rent"/, 'three streams a minute')
  const refused = await shell(`${refusal} ; true`)
  t.match(refused.stdout, /^(\{"uploadId".*\}\n){3}\{"code":"resource_exhausted".*"category":"upload".*\}$/)
  t.match(refused.stderr, /429/)

  const backend = createClient(BackendService, createGrpcTransport({ baseUrl: h2c, defaultTimeoutMs: 30_000 }))
  t.match(
    await answer(backend.createUpload({ sizeBytes: 1n })),
    /RATE_LIMITED xmtp\.org upload/,
    'one allowance for both listeners',
  )

  const logged = output().slice(text.length)
  t.match(logged, `"path":"/${SERVICE}/Publish"`)
  t.notMatch(logged, /127\.0\.0\.1|demo-api-key|Bearer|eyJ/, 'the log names no caller')
  t.match(http, /^http/)
})
