import t from 'tap'
import { openSocket } from '../../support/raw-http1.ts'
import { many, route, start, statuses } from './harness.ts'

const MOST = 10_000
const addressOf = (i: number) => `10.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}`
const from = (i: number) => ({ 'x-forwarded-for': addressOf(i) })

t.test(
  'ten thousand callers are tracked; the long tail shares one counter, neither refused nor let through',
  async (t) => {
    // A request whose credential is no good has passed what needs no identity, and is spared the way to the upstream.
    const { send, port, seconds } = await start(t, {
      head: 'trusted_proxies = ["127.0.0.1"]',
      routes: route('{ per = "address", count = 3, window = "PT1M" }, { per = "user", count = 1000, window = "PT1M" }'),
    })
    const requestOf = (i: number) =>
      `GET /x HTTP/1.1\r\nhost: a\r\nx-api-key: none\r\nx-forwarded-for: ${addressOf(i)}\r\n\r\n`
    const flood = await openSocket(t, port)
    for (let i = 0; i < MOST; i += 500) {
      flood.write(Array.from({ length: 500 }, (_, k) => requestOf(i + k)).join(''))
      const found = await statuses(500, async () => ({ ...(await flood.response()), headers: {} }))
      t.ok(found.every((status) => status === 401))
    }
    const ofTail = await statuses(6, (i) => send('/x', { headers: from(MOST + i) }))
    t.same(ofTail, [...many(3, 200), ...many(3, 429)], 'six new addresses, each for the first time')
    const ofTracked = await statuses(3, () => send('/x', { headers: from(7) }))
    t.same(ofTracked, [200, 200, 429], 'a tracked one has a counter of its own')
    seconds(121)
    for (const i of [MOST + 1, MOST + 2]) {
      const found = await statuses(4, () => send('/x', { headers: from(i) }))
      t.same(found, [...many(3, 200), 429], 'those that expired made room')
    }
  },
)

t.test('X-Forwarded-For counts only where the peer is a trusted proxy', async (t) => {
  const { send } = await start(t, { routes: route('{ per = "address", count = 2, window = "PT1M" }') })
  t.same(await statuses(3, (i) => send('/x', { headers: from(i) })), [200, 200, 429])
})
