import { ConnectError } from '@connectrpc/connect'
import t from 'tap'
import { denialError } from '../../src/rejection/denial-error.ts'
import { REASON } from '../../src/rejection/reason.ts'
import { writeRejection } from '../../src/rejection/wire.ts'
import { domain } from '../support/matrix-app.ts'
import { ofConnectError, ofConnectJson, ofGrpcTrailers, rejectionOf } from '../support/rejection.ts'
import { envelopesOf, trailersIn } from '../support/wire.ts'

const errorOf = (retryDelayMs: number | null) => denialError({ category: 'publish', retryDelayMs }, domain)

t.test('RATE-040: Retry-After is in whole seconds, rounded up, and never 0', async (t) => {
  const rows = [
    [0, '1'],
    [1, '1'],
    [999, '1'],
    [1000, '1'],
    [1001, '2'],
    [1500, '2'],
    [2000, '2'],
    [59_999, '60'],
    [17_179_869_184_000, '17179869184'],
  ] as const
  for (const [retryDelayMs, retryAfter] of rows) {
    t.same(
      ofConnectError(errorOf(retryDelayMs)),
      { ...rejectionOf('publish', retryDelayMs), retryAfter },
      `${retryDelayMs} ms`,
    )
  }
})

t.test('RATE-040: a delay of null leaves out RetryInfo and Retry-After, in every protocol', async (t) => {
  const expected = {
    code: 'resource_exhausted',
    message: 'rate limit of category publish exceeded',
    details: [{ type: 'google.rpc.ErrorInfo', reason: REASON, domain, metadata: { category: 'publish' } }],
    retryAfter: undefined,
  }
  const error = errorOf(null)
  t.same(ofConnectError(error), expected)

  const unary = writeRejection(error, 'application/json')
  t.equal(unary.status, 429)
  t.same(ofConnectJson(JSON.parse(String(Buffer.from(unary.body!))), unary.headers.get('retry-after')), expected)

  const stream = writeRejection(error, 'application/connect+json')
  const end = JSON.parse(envelopesOf(Buffer.from(stream.body!))[0]!.data.toString())
  t.same(ofConnectJson(end.error, end.metadata?.['retry-after']), expected)

  t.same(ofGrpcTrailers(Object.fromEntries(writeRejection(error, 'application/grpc').headers)), expected)
  const web = writeRejection(error, 'application/grpc-web')
  t.same(ofGrpcTrailers(trailersIn(envelopesOf(Buffer.from(web.body!))[0]!.data)), expected)
})

t.test('an error is made anew each time, as writers may add to its metadata', async (t) => {
  const first = errorOf(1500)
  first.metadata.set('x-more', 'yes')
  t.equal(errorOf(1500).metadata.get('x-more'), null)
  t.ok(first instanceof ConnectError)
})

t.test('a category of any allowed name stands in message and details as it is', async (t) => {
  for (const category of ['request', 'a', '0', 'my.own-category_2', '__proto__', 'constructor']) {
    const error = denialError({ category, retryDelayMs: 1 }, domain)
    t.same(ofConnectError(error).details[0], { ...(rejectionOf(category, 1).details[0] as object) }, category)
    t.match(error.rawMessage, `category ${category} `)
  }
})
