import { create } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import t from 'tap'
import { rejectionOf, retryDelayOf } from '../../src/client/index.ts'
import { RetryInfoSchema } from '../../src/gen/google/rpc/error_details_pb.ts'
import { denialError } from '../../src/rejection/denial-error.ts'
import { asWire, broken, domain, errorInfo, errorWith, retryInfo } from '../support/scripted-server.ts'

t.test('RATE-041: a rejection is read as the plugin writes it', async (t) => {
  const error = denialError({ category: 'publish', retryDelayMs: 1500 }, domain)
  t.same(rejectionOf(error), { domain, category: 'publish', retryDelayMs: 1500 })
  t.equal(retryDelayOf(error), 1500)
  t.same(rejectionOf(denialError({ category: 'publish', retryDelayMs: null }, domain)), {
    domain,
    category: 'publish',
    retryDelayMs: undefined,
  })
})

t.test('case 5: the order of details does not matter, nor do details that cannot be decoded, nor others', async (t) => {
  const other = { type: 'google.rpc.Help', value: new Uint8Array([1, 2, 3]) }
  const [info, retry] = [asWire(errorInfo()), asWire(retryInfo(5000))]
  for (const details of [
    [info, retry],
    [retry, info],
    [broken(errorInfo()), other, retry, broken(retryInfo(1)), info],
  ]) {
    t.same(rejectionOf(errorWith(...details)), { domain, category: 'request', retryDelayMs: 5000 })
  }
  t.same(rejectionOf(errorWith(info, broken(retryInfo(1))))?.retryDelayMs, undefined, 'a broken RetryInfo is none')
  t.equal(rejectionOf(errorWith(broken(errorInfo()), retry)), undefined, 'a broken ErrorInfo is none')
})

t.test('case 5: what is no rejection has no delay', async (t) => {
  t.equal(retryDelayOf(errorWith(retryInfo(5000))), undefined, 'only RetryInfo')
  t.equal(retryDelayOf(errorWith(errorInfo({ reason: 'QUOTA' }), retryInfo(5000))), undefined, 'another reason')
  t.equal(retryDelayOf(new ConnectError('too large', Code.ResourceExhausted)), undefined)
  for (const error of [undefined, null, 'RATE_LIMITED', new Error('no'), { details: [errorInfo()] }]) {
    t.equal(retryDelayOf(error), undefined)
  }
})

t.test('whose rejections', async (t) => {
  const error = errorWith(errorInfo({ domain: 'example.com' }), retryInfo(5000))
  t.equal(retryDelayOf(error), 5000, "anybody's")
  t.equal(retryDelayOf(error, 'example.com'), 5000)
  t.equal(retryDelayOf(error, domain), undefined)
  const two = errorWith(errorInfo({ domain: 'example.com', category: 'other' }), errorInfo(), retryInfo(1))
  t.equal(rejectionOf(two, domain)?.category, 'request', 'the ErrorInfo of that domain, wherever it stands')
})

t.test('the delay in milliseconds, rounded up', async (t) => {
  const delayOf = (retryDelay: { seconds: bigint; nanos: number } | undefined) =>
    retryDelayOf(
      errorWith(errorInfo(), {
        desc: RetryInfoSchema,
        value: create(RetryInfoSchema, retryDelay === undefined ? {} : { retryDelay }),
      }),
    )
  t.equal(delayOf({ seconds: 1n, nanos: 1 }), 1001)
  t.equal(delayOf({ seconds: 1n, nanos: 500_000_000 }), 1500)
  t.equal(delayOf({ seconds: 315_576_000_000n, nanos: 999_999_999 }), 315_576_000_001_000)
  t.equal(delayOf({ seconds: 0n, nanos: 0 }), 0)
  t.equal(delayOf({ seconds: -1n, nanos: 0 }), 0)
  t.equal(delayOf({ seconds: 0n, nanos: -1 }), 0)
  t.equal(delayOf(undefined), undefined, 'a RetryInfo without a delay')
  t.equal(retryDelayOf(errorWith(errorInfo(), retryInfo(10), retryInfo(30), retryInfo(20))), 30, 'the longest')
})

t.test('a server that sends very many details breaks nothing', async (t) => {
  const many = errorWith()
  many.details = [errorInfo(), ...Array.from({ length: 150_000 }, () => retryInfo(5))].map(asWire)
  t.equal(retryDelayOf(many), 5)
})
