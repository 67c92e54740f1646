import { fromBinary } from '@bufbuild/protobuf'
import * as grpc from '@grpc/grpc-js'
import { credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import t from 'tap'
import { demo } from '../../example-server/demo.ts'
import { ErrorInfoSchema, RetryInfoSchema } from '../../src/gen/google/rpc/error_details_pb.ts'
import { StatusSchema } from '../../src/gen/google/rpc/status_pb.ts'
import { DEMO_KEY, LOOPBACK, left, SERVICE, spent, start, token } from './harness.ts'

/** A client that knows nothing of Connect: @grpc/grpc-js, with what proto-loader makes of the .proto files. */
function stranger(url: string, file: string, name: string) {
  const includeDirs = ['proto', 'node_modules/grpc-health-check/proto']
  const definition = loadSync(file, { includeDirs, keepCase: true, defaults: true, longs: String })
  let at: unknown = grpc.loadPackageDefinition(definition)
  for (const part of name.split('.')) at = (at as Record<string, unknown>)[part]
  const client = new (at as grpc.ServiceClientConstructor)(new URL(url).host, credentials.createInsecure())
  const call = (method: string, request: unknown, headers: Record<string, string> = {}) =>
    new Promise<{ response?: Record<string, unknown>; error?: ServiceError }>((resolve) => {
      const metadata = new Metadata()
      for (const [key, value] of Object.entries(headers)) metadata.set(key, value)
      client[method]!(request, metadata, (error: ServiceError | null, response: Record<string, unknown>) =>
        resolve(error ? { error } : { response }),
      )
    })
  return { call, close: () => client.close() }
}

/** The details of a rejection as gRPC carries them. */
function detailsOf(error: ServiceError | undefined) {
  const [bin] = error?.metadata.get('grpc-status-details-bin') ?? []
  const { code, details } = fromBinary(StatusSchema, bin as Buffer)
  const [info, retry] = details
  return {
    code,
    info: fromBinary(ErrorInfoSchema, info!.value),
    delay: fromBinary(RetryInfoSchema, retry!.value).retryDelay,
  }
}

t.test("RATE-040: a stranger's gRPC client is served, charged, and refused with both details", async (t) => {
  const { urls, limiter, clock, store } = await start(t, { publish: 2 })
  const backend = stranger(urls.h2c, 'example/v1/backend.proto', SERVICE)
  t.teardown(() => backend.close())
  const envelopes = [{ topic: 'a', application_message: Buffer.from('hello') }]

  const before = left(limiter, LOOPBACK)
  t.match(await backend.call('Publish', { envelopes: [...envelopes, ...envelopes] }), {
    response: { sequence_ids: ['1', '2'] },
  })
  t.same(spent(before, left(limiter, LOOPBACK)), { request: 1, publish: 2 })
  const { response } = await backend.call('Query', { topics: ['a'] })
  t.match(response?.envelopes, [{ sequence_id: '1' }, { sequence_id: '2', envelope: { topic: 'a' } }])

  const { error } = await backend.call('Publish', { envelopes })
  t.equal(error?.code, status.RESOURCE_EXHAUSTED)
  t.notMatch(error?.message, /127\.0\.0\.1/)
  t.match(detailsOf(error), {
    code: 8,
    info: { reason: 'RATE_LIMITED', domain: 'xmtp.org', metadata: { category: 'publish' } },
    delay: { seconds: 30n, nanos: 0 },
  })
  t.equal(store.count('envelopes'), 2)

  clock.advance(29_999_000_000n)
  t.match(detailsOf((await backend.call('Publish', { envelopes })).error), { delay: { seconds: 0n, nanos: 1_000_000 } })
  clock.advance(1_000_000n)
  t.match(await backend.call('Publish', { envelopes }), { response: { sequence_ids: ['3'] } }, 'RATE-024: at the delay')
})

t.test('RATE-001, case 14: a stranger signs in by metadata', async (t) => {
  const { urls, limiter } = await start(t)
  const backend = stranger(urls.h2c, 'example/v1/backend.proto', SERVICE)
  t.teardown(() => backend.close())
  const alice = { type: 'jwt', iss: demo.iss, sub: 'alice' } as const
  for (const [headers, caller] of [
    [{ 'x-api-key': demo.apiKey }, DEMO_KEY],
    [{ authorization: `Bearer ${await token({ sub: 'alice' })}` }, alice],
  ] as const) {
    const before = [left(limiter, caller), left(limiter, LOOPBACK)] as const
    t.match(await backend.call('QueryNewest', { topics: ['a'] }, headers), { response: { envelopes: [] } })
    t.same(spent(before[0], left(limiter, caller)), { request: 1 })
    t.same(left(limiter, LOOPBACK), before[1])
  }
  const { error } = await backend.call('QueryNewest', { topics: ['a'] }, { authorization: 'Bearer nonsense' })
  t.equal(error?.code, status.UNAUTHENTICATED)
  t.same(left(limiter, LOOPBACK).request, 6000)
})

t.test("RATE-011: a stranger's health checks are free", async (t) => {
  const { urls } = await start(t, { request: 1 })
  const health = stranger(urls.h2c, 'health/v1/health.proto', 'grpc.health.v1.Health')
  t.teardown(() => health.close())
  for (let i = 0; i < 3; i++) t.match(await health.call('Check', { service: '' }), { response: { status: 1 } })
  t.match(await health.call('Check', { service: 'nobody' }), { error: { code: status.NOT_FOUND } })
})
