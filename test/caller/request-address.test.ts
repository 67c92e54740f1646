import t from 'tap'
import { requestAddress } from '../../src/caller/request-address.ts'
import { parseTrustedProxies } from '../../src/caller/trusted-proxies.ts'

const raw = (remoteAddress?: string, forwardedFor?: string) => ({
  httpVersionMajor: 1,
  headers: { 'x-forwarded-for': forwardedFor },
  rawHeaders: [],
  socket: { remoteAddress },
})
const tcp = { address: () => ({ address: '127.0.0.1', family: 'IPv4', port: 5050 }) }
const unix = { address: () => '/run/app.sock' }
// Node knows neither the name nor the address of it.
const handedOver = { address: () => null }
const trusted = parseTrustedProxies(['unix'])

t.test('RATE-002: a peer without an address came over a Unix socket, however the server was given it', async (t) => {
  for (const server of [unix, handedOver]) {
    t.equal(requestAddress(raw(undefined, '203.0.113.9'), server, trusted), '203.0.113.9')
    t.type(requestAddress(raw(), server, trusted), 'string')
  }
})

t.test('RATE-002: on TCP it has gone, and nothing that it wrote is believed', async (t) => {
  t.equal(requestAddress(raw(undefined, '203.0.113.9'), tcp, trusted), undefined)
  t.equal(requestAddress(raw('198.51.100.7', '203.0.113.9'), tcp, trusted), '198.51.100.7')
})

t.test('RATE-002: the server that accepted the connection decides, not that of the app', async (t) => {
  const request = raw(undefined, '203.0.113.9')
  t.equal(
    requestAddress({ ...request, socket: { ...request.socket, server: unix } as object }, tcp, trusted),
    '203.0.113.9',
  )
  t.equal(
    requestAddress({ ...request, socket: { ...request.socket, server: tcp } as object }, unix, trusted),
    undefined,
  )
})
