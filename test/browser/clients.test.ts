import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { LOOPBACK, message, start } from '../example-server/harness.ts'
import { rejectionOf } from '../support/rejection.ts'
import { load } from './bundle.ts'
import { launch, newPage } from './chromium.ts'
import { startServer } from './example-page.ts'

const DOMAIN = 'xmtp.org'
const browser = await launch(t)

/** The server, whose time stands still, and a page of another origin that calls it. */
async function startWorld(t: Tap, file: string, counts: Record<string, number>) {
  const server = await start(t, counts)
  const elsewhere = await startServer(t)
  const page = await newPage(t, browser, { mayLog: /status of 404/ })
  await page.goto(`${elsewhere.url}/empty`)
  return { server, url: server.urls.http, call: await load(page, file) }
}

type Tap = Pick<typeof t, 'teardown'>

/**
 * Spends the rent of the next period of the stream that `subscribe` opens, which ends by it after it has delivered what
 * was stored. Google's client tells nothing of a stream in the binary format before it has ended.
 */
async function cutLate(
  { clients, limiter, clock }: Awaited<ReturnType<typeof start>>,
  subscribe: () => Promise<unknown>,
): Promise<unknown> {
  await clients[0]!.backend.publish({ envelopes: [message('greetings')] })
  const requests = () => limiter.remaining(LOOPBACK, 'request')[0]!.units
  const before = requests()
  const stream = subscribe()
  while (requests() > before - 2) await setTimeout(5)
  await setTimeout(50)
  clock.advance(59_999_000_000n)
  limiter.spend(LOOPBACK, 'stream_rent', 3)
  clock.advance(1_000_000n)
  return stream
}

const expected = (category: string, retryDelayMs: number) => ({
  code: 'ResourceExhausted',
  message: rejectionOf(category, retryDelayMs).message,
  reasons: ['RATE_LIMITED'],
  delays: 1,
  rejection: { domain: DOMAIN, category, retryDelayMs },
  delayMs: retryDelayMs,
})

for (const protocol of ['Connect', 'Connect, binary', 'gRPC-Web']) {
  t.test(`RATE-040, Connect-Web in a browser, ${protocol}: a unary denial is read with both details`, async (t) => {
    const { call, url } = await startWorld(t, 'connect-web.ts', { publish: 1 })
    t.equal(await call('publish', protocol, url), 'published')
    t.same(await call('publish', protocol, url), expected('publish', 60_000))
  })

  t.test(`RATE-032, case 3, ${protocol}: a late denial of a stream is read with both details`, async (t) => {
    const { call, url, server } = await startWorld(t, 'connect-web.ts', { stream_rent: 3 })
    const ended = await cutLate(server, () => call('subscribe', protocol, url))
    t.same(ended, { events: ['started', 'messages'], ...expected('stream_rent', 39_999) })
  })

  t.test(`RATE-041, ${protocol}: the interceptor waits for as long as the server says, and is through`, async (t) => {
    const { call } = await startWorld(t, 'connect-web.ts', {})
    const server = await startServer(t, { publish: '2/1' })
    const publish = async () =>
      (await call('publishPatiently', protocol, server.url)) as { waits: number[]; tookMs: number; stored: number }
    for (let i = 0; i < 2; i++) t.same((await publish()).waits, [])
    const { waits, tookMs, stored } = await publish()
    t.equal(waits.length, 1, 'one refusal')
    t.ok(waits[0]! > 0 && waits[0]! <= 500 && tookMs >= waits[0]!, `said ${waits[0]} ms, took ${tookMs} ms`)
    t.equal(stored, 1)
  })
}

const google = (category: string, retryDelayMs: number) => {
  const { message, details } = rejectionOf(category, retryDelayMs)
  const inDomain = details.map((detail) =>
    'domain' in (detail as object) ? { ...(detail as object), domain: DOMAIN } : detail,
  )
  return { code: 8, message, details: inDomain, status: { code: 8, message } }
}

t.test("RATE-040, Google's grpc-web client, binary: a unary denial is read with both details", async (t) => {
  const { call, url } = await startWorld(t, 'grpc-web.ts', { publish: 1 })
  t.same(await call('publish', 'binary', url), { stored: 1 })
  t.same(await call('publish', 'binary', url), google('publish', 60_000))
})

for (const format of ['binary', 'text']) {
  t.test(
    `RATE-040, Google's grpc-web client, ${format}: a denial before the body is read, unary and stream`,
    async (t) => {
      const { call, url, server } = await startWorld(t, 'grpc-web.ts', { request: 1 })
      server.limiter.spend(LOOPBACK, 'request', 1)
      t.same(await call('publish', format, url), google('request', 60_000))
      t.same(await call('subscribe', format, url), { events: [], ...google('request', 60_000) })
    },
  )
}

t.test("RATE-032, case 3, Google's grpc-web client: a late denial of a stream is read with both details", async (t) => {
  const { call, url, server } = await startWorld(t, 'grpc-web.ts', { stream_rent: 3 })
  const ended = await cutLate(server, () => call('subscribe', 'binary', url))
  t.same(ended, { events: ['started', 'messages'], ...google('stream_rent', 39_999) })
})
