import fc from 'fast-check'
import t from 'tap'
import { exposedHeaders } from '../../src/rejection/exposed-headers.ts'

const refused = { 'retry-after': '12', ratelimit: '"caller";r=0;t=12', 'ratelimit-policy': '"caller";q=1;w=12' }
const cors = { 'access-control-allow-origin': 'https://app.example.com' }
const exposing = (value: string | string[]) => ({ ...refused, ...cors, 'access-control-expose-headers': value })

t.test('what is exposed where CORS is in use', async (t) => {
  t.equal(exposedHeaders(refused), undefined, 'no CORS')
  t.equal(exposedHeaders(cors), undefined, 'none of our fields')
  t.equal(exposedHeaders({ ...refused, ...cors }), 'Retry-After, RateLimit, RateLimit-Policy')
  t.equal(
    exposedHeaders({ ...cors, 'ratelimit-limit': '1', 'ratelimit-remaining': '0', 'ratelimit-reset': 2 }),
    'RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset',
  )
})

t.test('what is exposed already stays, and nothing is there twice', async (t) => {
  t.equal(exposedHeaders(exposing('X-Own, retry-after')), 'X-Own, retry-after, RateLimit, RateLimit-Policy')
  t.equal(exposedHeaders(exposing(['X-Own', 'RateLimit'])), 'X-Own, RateLimit, Retry-After, RateLimit-Policy')
  t.equal(exposedHeaders(exposing('ratelimit,RATELIMIT-POLICY ,Retry-After')), undefined)
  t.equal(exposedHeaders(exposing('')), 'Retry-After, RateLimit, RateLimit-Policy')
})

t.test('a star exposes all, but for requests with credentials', async (t) => {
  t.equal(exposedHeaders(exposing('*')), undefined)
  t.equal(exposedHeaders(exposing('X-Own, *')), undefined)
  t.equal(
    exposedHeaders({ ...exposing('*'), 'access-control-allow-credentials': 'true' }),
    '*, Retry-After, RateLimit, RateLimit-Policy',
  )
})

t.test('once added, nothing is left to add', async () => {
  const name = fc.constantFrom('X-Own', 'retry-after', 'RateLimit', 'ratelimit-policy', '')
  fc.assert(
    fc.property(fc.array(name), (names) => {
      const headers = exposing(names.join(', '))
      const exposed = exposedHeaders(headers)
      return exposed === undefined || exposedHeaders(exposing(exposed)) === undefined
    }),
  )
})
