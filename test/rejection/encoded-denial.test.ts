import { deepEqual } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { denialError } from '../../src/rejection/denial-error.ts'
import { DenialEncoder } from '../../src/rejection/encoded-denial.ts'
import { writeDenial, writeRejection } from '../../src/rejection/wire.ts'

const types = [
  undefined,
  'application/json',
  'application/connect+proto',
  'application/connect+json',
  'application/grpc',
  'application/grpc+proto',
  'application/grpc-web+proto',
  'application/grpc-web-text',
]
/** 10,000 years in ms: for more JSON has no Duration. */
const MOST_MS = 315_576_000_000_000

const retryDelays = fc.oneof(
  fc.constantFrom(null, 0, 1, 999, 1000, 127_000, 128_000, 2 ** 31 * 1000, 2 ** 35 * 1000, MOST_MS),
  fc.integer({ min: 0, max: 100_000 }),
  fc.maxSafeNat().map((ms) => ms % MOST_MS),
)
const categories = fc.oneof(
  fc.constantFrom('request', '__proto__', 'constructor'),
  fc.stringMatching(/^[a-z0-9_.-]{1,64}$/),
)
const domains = fc.oneof(fc.constant('example.com'), fc.stringMatching(/^[\x21-\x7e]{1,200}$/))

t.test('RATE-040: in every protocol a denial is written as connect-es writes its error, byte by byte', async () => {
  fc.assert(
    fc.property(domains, categories, fc.array(retryDelays, { minLength: 1 }), (domain, category, delays) => {
      const encoder = new DenialEncoder(domain)
      for (const retryDelayMs of delays) {
        const denial = encoder.encode({ category, retryDelayMs })
        const error = denialError({ category, retryDelayMs }, domain)
        for (const type of types) {
          const { status, headers, body } = writeDenial(denial, type)
          const expected = writeRejection(error, type)
          deepEqual(status, expected.status)
          deepEqual(Object.fromEntries(headers), Object.fromEntries(expected.headers))
          deepEqual(bytesOf(body), bytesOf(expected.body))
        }
      }
    }),
    { numRuns: 50 },
  )
})

t.test('categories of one encoder are told apart', async (t) => {
  const encoder = new DenialEncoder('example.com')
  for (const category of ['publish', 'request', 'publish']) {
    const { body } = writeDenial(encoder.encode({ category, retryDelayMs: 1 }), undefined)
    const expected = writeRejection(denialError({ category, retryDelayMs: 1 }, 'example.com'), undefined)
    t.same(bytesOf(body), bytesOf(expected.body), category)
  }
})

function bytesOf(body: Uint8Array | string | undefined): Buffer {
  return typeof body === 'string' ? Buffer.from(body, 'latin1') : Buffer.from(body ?? '')
}
